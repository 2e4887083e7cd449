"""Agent configurations from a folder: what is followed, what is kept, and what a look never does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from controlplane.events.models import Event
from registry.agent_configs.delivery.data_planes import (
    DataPlaneSpec,
    Format,
    get_configuration,
    get_plane,
    put_plane,
)
from registry.agent_configs.documents.published import DocumentId
from registry.agent_configs.models import AgentConfig, AgentConfigStatus
from registry.agent_configs.publishing.publish import get_document
from registry.agent_configs.sources.folder import get_folder_row, synchronise
from registry.tasks import recompute_agent_configs
from tests.integration.registry.agent_configs.publishing.test_publish import text
from tests.support.api_client import ACTOR


@pytest.fixture
def folder(db, settings, tmp_path) -> Path:
    settings.AGENT_CONFIGS_PATH = str(tmp_path)
    put_plane("eu", DataPlaneSpec(), actor=ACTOR)
    return tmp_path


def write(folder: Path, team: str, content: str, name: str = "agents.yaml") -> None:
    (folder / team).mkdir(exist_ok=True)
    (folder / team / name).write_text(content)


def look() -> str:
    """As the task does, of files that are written to the end."""
    return synchronise(settled_seconds=0)


def served() -> str:
    return get_configuration(get_plane("eu"), Format.YAML).body


def test_a_file_is_a_document_of_the_team_whose_folder_it_lies_in(folder):
    write(folder, "acme", text("acme-sensor", "acme_sensor"))

    assert look() == "current"

    assert "acme-sensor" in served()
    assert get_document(DocumentId("folder", "acme", "agents.yaml")).changed_by == "system:agent_config_files"


def test_looking_again_changes_nothing_and_a_changed_file_takes_effect(folder):
    write(folder, "acme", text("acme-sensor", "acme_sensor"))
    look()
    before = (get_plane("eu").active_revision, Event.objects.count())

    look()
    assert (get_plane("eu").active_revision, Event.objects.count()) == before
    write(folder, "acme", text("acme-sensor", "acme_sensor", endpoint="moved.svc:8000"))
    look()

    assert "moved.svc:8000" in served()


def test_a_broken_file_keeps_its_last_good_generation_and_touches_no_other(folder):
    write(folder, "acme", text("acme-sensor", "acme_sensor"))
    write(folder, "beta", text("beta-sensor", "beta_sensor"))
    look()

    write(folder, "acme", "plugins: [")
    write(folder, "beta", text("beta-sensor", "beta_sensor", "beta_query"))
    look()

    assert "acme-sensor" in served()
    assert "beta_query" in served()
    status = AgentConfigStatus.objects.get(document__team="acme")
    conditions = {
        condition["type"]: (condition["status"], condition["reason"]) for condition in status.conditions
    }
    assert conditions["Valid"] == ("False", "InvalidYAML")
    assert conditions["Programmed"] == ("True", "ServingLastGood")


def test_a_folder_that_is_gone_removes_nothing_and_says_so(folder, settings):
    write(folder, "acme", text("acme-sensor", "acme_sensor"))
    look()
    settings.AGENT_CONFIGS_PATH = str(folder / "unmounted")

    assert look() == "failing"
    recompute_agent_configs()

    assert "acme-sensor" in served()
    status = AgentConfigStatus.objects.get(document__team="acme")
    assert [condition["status"] for condition in status.conditions if condition["type"] == "Stale"] == [
        "True"
    ]
    settings.AGENT_CONFIGS_PATH = str(folder)
    assert look() == "current"


def test_an_empty_folder_waits_for_a_confirmation_of_what_would_go(folder):
    for number in range(4):
        write(folder, f"team{number}", text(f"agent{number}", f"type{number}"))
    look()
    for number in range(4):
        (folder / f"team{number}" / "agents.yaml").unlink()

    assert look() == "awaiting_confirmation"
    assert AgentConfig.objects.filter(deleted_at=None).count() == 4
    with pytest.raises(CommandError, match="awaiting_confirmation"):
        call_command("load_agent_configs")
    call_command("load_agent_configs", confirm=get_folder_row().pending["digest"])

    assert not AgentConfig.objects.filter(deleted_at=None).exists()
    # No team loses more than one agent, and the removal of all was confirmed.
    assert get_plane("eu").held is None


def test_one_file_that_goes_takes_its_document_with_it(folder):
    write(folder, "acme", text("acme-sensor", "acme_sensor"))
    write(folder, "beta", text("beta-sensor", "beta_sensor"))
    look()

    (folder / "acme" / "agents.yaml").unlink()
    look()

    assert "acme-sensor" not in served()
    assert "beta-sensor" in served()


def test_a_mounted_config_map_is_followed_through_the_swap_of_its_links(folder):
    team = folder / "acme"
    (team / "..v1").mkdir(parents=True)
    (team / "..v1" / "agents.yaml").write_text(text("acme-sensor", "first"))
    os.symlink("..v1", team / "..data")
    os.symlink("..data/agents.yaml", team / "agents.yaml")
    look()
    (team / "..v2").mkdir()
    (team / "..v2" / "agents.yaml").write_text(text("acme-sensor", "second"))
    os.symlink("..v2", team / "..new")
    os.replace(team / "..new", team / "..data")

    look()

    assert '"second"' in served()
    assert AgentConfig.objects.filter(deleted_at=None).count() == 1


def test_a_link_out_of_the_folder_is_not_read(folder, tmp_path_factory):
    secret = tmp_path_factory.mktemp("elsewhere") / "secret.yaml"
    secret.write_text("password: hunter2")
    (folder / "evil").mkdir()
    os.symlink(secret, folder / "evil" / "agents.yaml")

    look()

    assert not AgentConfig.objects.exists()
    assert get_folder_row().problems == ["evil/agents.yaml: the link points outside the folder"]


def test_a_hostile_folder_does_not_keep_others_from_being_read(folder, settings):
    write(folder, "acme", text("acme-sensor", "acme_sensor"))
    write(folder, "Not A Team", text("x", "x"))
    write(folder, "huge", "x" * (settings.AGENT_CONFIGS_DOCUMENT_BYTES + 10))
    (folder / "binary").mkdir()
    (folder / "binary" / "a.yaml").write_bytes(b"\xff\x00\xfe")
    (folder / "top.yaml").write_text("plugins: {}")
    (folder / "binary" / os.fsdecode(b"\xff.yaml")).write_text("plugins: {}")

    assert look() == "current"

    assert "acme-sensor" in served()
    assert len(get_folder_row().problems) == 3
    valid = AgentConfig.objects.filter(is_valid=True).values_list("team", flat=True)
    assert list(valid) == ["acme"]


def test_a_file_that_was_touched_a_moment_ago_is_read_later(folder):
    write(folder, "acme", text("acme-sensor", "acme_sensor"))

    assert synchronise(settled_seconds=60) == "current"
    assert not AgentConfig.objects.exists()
    look()

    assert AgentConfig.objects.count() == 1
    synchronise(settled_seconds=60)
    assert AgentConfig.objects.filter(deleted_at=None).count() == 1


def test_the_command_says_what_is_wrong(db, settings, folder, capsys):
    (folder / "top.yaml").write_text("plugins: {}")

    call_command("load_agent_configs")

    told = capsys.readouterr()
    assert "top.yaml" in told.err
    assert "was loaded" in told.out
    settings.AGENT_CONFIGS_PATH = ""
    with pytest.raises(CommandError, match="AGENT_CONFIGS_PATH"):
        call_command("load_agent_configs")
