"""Plugin configurations from files: read again, released when they change, harmless when wrong."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.db.models.functions import Now

from controlplane.access.models import AuditRecord
from controlplane.access.teams.teams import create_team
from controlplane.errors import SourceIsReadOnly
from registry.plugin_releases.config_changes import write_config
from registry.plugin_releases.folder_files import read_files
from registry.plugin_releases.folder_source import FolderSource
from registry.plugin_releases.models import PluginConfig, PluginFolder, PluginRelease, PluginSet
from registry.plugins.documents.configuration import read_configuration
from tests.support.api_client import ACTOR

pytestmark = pytest.mark.django_db
SHA256 = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"


def config(image: str = "registry.example/bq:1.0", **provider: Any) -> str:
    providers = [{"type": "url", "name": "web", "url": "https://artifacts.example.com", **provider}]
    plugin = {
        "provider": "web",
        "output": "bq",
        "path": "bq.tar.gz",
        "checksum": f"sha256:{SHA256}",
        "config": {"executor_image": image},
    }
    return yaml.safe_dump({"plugins": {"providers": providers, "plugins": [plugin]}})


@pytest.fixture
def folder(settings: Any, tmp_path: Path) -> Path:
    folder = tmp_path / "configuration"
    folder.mkdir()
    settings.PLUGIN_CONFIG_PATH = str(folder)
    return folder


@pytest.fixture
def source() -> FolderSource:
    return FolderSource("node-a", settled_seconds=0)


def mount(folder: Path, version: str, files: dict[str, str]) -> None:
    """Mount a ConfigMap as the kubelet does: all files change at once, by one link."""
    data = folder / f"..{version}"
    for name, text in files.items():
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_text(text)
    (folder / "..new").symlink_to(data.name)
    os.replace(folder / "..new", folder / "..data")
    for name in {Path(name).parts[0] for name in files}:
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"..data/{name}")


def images() -> list[str]:
    rows = PluginConfig.objects.order_by("version").values_list("document", flat=True)
    return [row["plugins"]["plugins"][0]["config"]["executor_image"] for row in rows]


def problems() -> list[tuple[str, str]]:
    return [(one["file"], one["message"]) for one in PluginFolder.objects.get().diagnostics]


def test_a_configmap_that_is_swapped_is_a_new_version_and_a_release(folder, source):
    mount(folder, "v1", {"platform.yaml": config()})
    source.refresh()
    source.refresh()
    mount(folder, "v2", {"platform.yaml": config("registry.example/bq:2.0")})
    source.refresh()

    assert images() == ["registry.example/bq:1.0", "registry.example/bq:2.0"]
    assert [row.config.version for row in PluginRelease.objects.order_by("number")] == [1, 2]
    assert PluginSet.objects.get().source == "folder"
    assert PluginFolder.objects.get().is_valid
    changed = AuditRecord.objects.filter(action="plugin_config.changed")
    assert {row.actor for row in changed} == {"system:plugin-config-files"}


def test_files_with_errors_leave_the_last_good_configuration_in_force(folder, source):
    (folder / "platform.yaml").write_text(config())
    source.refresh()
    (folder / "platform.yaml").write_text(config().replace("provider: web", "provider: other"))
    source.refresh()

    assert images() == ["registry.example/bq:1.0"]
    row = PluginFolder.objects.get()
    assert not row.is_valid
    assert {(one["file"], one["code"]) for one in row.diagnostics} == {("platform.yaml", "unknown_provider")}
    assert all(one["line"] for one in row.diagnostics)
    (folder / "platform.yaml").write_text(config("registry.example/bq:3.0"))
    source.refresh()
    assert PluginFolder.objects.get().is_valid
    assert images()[-1] == "registry.example/bq:3.0"


def test_each_team_has_its_own_file_and_the_limits_of_teams(folder, source):
    for team in ("ml", "bi"):
        create_team(team, actor=ACTOR)
    (folder / "teams").mkdir()
    (folder / "teams/bi.yaml").write_text(config(auth={"type": "bearer", "env": "TOKEN"}))
    (folder / "teams/ml.yaml").write_text(config())
    (folder / "teams/nobody.yaml").write_text(config())
    (folder / "other.yaml").write_text(config())
    source.refresh()

    assert [str(row.plugin_set) for row in PluginRelease.objects.all()] == ["ml"]
    found = dict(problems())
    assert found.keys() == {"other.yaml", "teams/bi.yaml", "teams/nobody.yaml"}
    assert "the server's own" in found["teams/bi.yaml"]
    assert "does not exist" in found["teams/nobody.yaml"]
    assert "platform.yaml, or teams/<team>.yaml" in found["other.yaml"]


def test_a_single_file_is_the_platforms(settings, tmp_path, source):
    file = tmp_path / "plugins.yaml"
    file.write_text(config())
    settings.PLUGIN_CONFIG_PATH = str(file)
    source.refresh()

    assert str(PluginSet.objects.get()) == "platform"


def test_the_api_writes_again_once_the_file_was_removed(folder, source):
    (folder / "platform.yaml").write_text(config())
    source.refresh()
    reading = read_configuration(config("registry.example/bq:2.0"))
    with pytest.raises(SourceIsReadOnly, match="PLUGIN_CONFIG_PATH"):
        write_config(None, reading, precondition=None, actor=ACTOR)
    (folder / "platform.yaml").unlink()
    source.refresh()

    assert images() == ["registry.example/bq:1.0"]
    assert write_config(None, reading, precondition=None, actor=ACTOR).is_new


def test_the_api_writes_again_some_time_after_the_setting_was_removed(folder, source, settings):
    (folder / "platform.yaml").write_text(config())
    source.refresh()
    settings.PLUGIN_CONFIG_PATH = ""
    source.refresh()
    assert PluginSet.objects.get().source == "folder"
    PluginFolder.objects.update(read_at=Now() - timedelta(minutes=11))
    source.refresh()

    assert PluginSet.objects.get().source == "api"


def test_a_folder_that_cannot_be_read_changes_nothing_and_says_so(folder, source, settings):
    (folder / "platform.yaml").write_text(config())
    source.refresh()
    settings.PLUGIN_CONFIG_PATH = f"{folder}/missing"
    source.refresh()

    assert images() == ["registry.example/bq:1.0"]
    assert problems()[0][1].startswith("PLUGIN_CONFIG_PATH cannot be read:")
    settings.PLUGIN_CONFIG_PATH = str(folder)
    source.refresh()
    assert PluginFolder.objects.get().is_valid
    assert images() == ["registry.example/bq:1.0"]


def test_one_installer_reads_and_an_older_mount_of_another_undoes_nothing(folder, source, settings, tmp_path):
    (folder / "platform.yaml").write_text(config("registry.example/bq:2.0"))
    source.refresh()
    late = tmp_path / "late"
    late.mkdir()
    (late / "platform.yaml").write_text(config("registry.example/bq:1.0"))
    settings.PLUGIN_CONFIG_PATH = str(late)
    other = FolderSource("node-b", settled_seconds=0)
    other.refresh()
    assert images() == ["registry.example/bq:2.0"]

    PluginFolder.objects.update(read_at=Now() - timedelta(minutes=10))
    other.refresh()
    assert images() == ["registry.example/bq:2.0", "registry.example/bq:1.0"]


def test_a_file_that_is_being_written_is_left_for_later(folder):
    (folder / "platform.yaml").write_text(config())
    patient = FolderSource("node-a", settled_seconds=60)
    patient.refresh()
    assert not PluginConfig.objects.exists()


def test_a_link_to_outside_is_not_followed(folder, source, tmp_path):
    (tmp_path / "secret.yaml").write_text(config())
    (folder / "platform.yaml").symlink_to(tmp_path / "secret.yaml")
    source.refresh()

    assert not PluginConfig.objects.exists()
    assert problems() == [("platform.yaml", "It is a link to outside of the folder.")]


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"\xff\xfe", "not UTF-8"), (b"x" * ((1 << 20) + 1), "exceeds"), (b"plugins: [", "")],
)
def test_what_is_no_document_is_said(folder, source, content, problem):
    (folder / "platform.yaml").write_bytes(content)
    source.refresh()

    assert problem in problems()[0][1]
    assert not PluginSet.objects.exists()


def test_two_files_for_the_same_plugins_are_a_mistake(folder):
    (folder / "platform.yaml").write_text(config())
    (folder / "platform.json").write_text("{}")
    listing = read_files(folder, settled_seconds=0)

    assert [file.problem for file in listing.problems] == ["platform.json is for the same plugins."]
