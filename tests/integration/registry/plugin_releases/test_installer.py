"""Installers: archives are fetched once, installed on nodes, and releases become active by it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from controlplane.access.models import AuditRecord
from controlplane.access.teams.teams import create_team
from plugin_store.generations import active_folders
from registry.plugin_releases.config_changes import write_secret
from registry.plugin_releases.installer import Installer
from registry.plugin_releases.models import (
    PluginInstallation,
    PluginNode,
    PluginRelease,
    PluginSet,
    ReleasedPlugin,
)
from registry.plugin_releases.release_changes import cancel, roll_back
from tests.support.api_client import ACTOR
from tests.support.plugin_repository import Faults, PluginRepository, plugin_archive, running_repository
from tests.support.plugin_sets import document, entry, released, state_of, steps_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _settings(settings: Any, tmp_path: Path) -> None:
    settings.OUTGOING_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    settings.PLUGIN_STORE = str(tmp_path / "store")
    settings.PLUGIN_ROOT = str(tmp_path / "node-a")
    settings.PLUGIN_FETCH_GRACE_SECONDS = 1


@pytest.fixture
def repository() -> Iterator[PluginRepository]:
    with running_repository() as repository:
        yield repository


@pytest.fixture
def installer() -> Iterator[Installer]:
    installer = Installer("node-a", "0.1.0")
    yield installer
    installer.resolver.close()


def activate(installer: Installer, content: dict[str, Any], **terms: Any) -> PluginRelease:
    release = released(content, **terms)
    steps_until(installer, lambda: state_of(release) == "active")
    release.refresh_from_db()
    return release


def test_a_release_is_fetched_installed_and_becomes_active(installer, repository, settings):
    checksum = repository.add("bq.tar.gz", plugin_archive("bq"))

    release = activate(installer, document(repository, entry("web", "bq", checksum)))
    installer.step()

    folder = active_folders(Path(settings.PLUGIN_ROOT) / "platform")["bq"]
    assert (folder / "assets/query.sql").read_text() == "select 1;\n"
    assert release.downloaded == len(repository.files["bq.tar.gz"])
    assert PluginInstallation.objects.get(release=release).state == "active"
    actions = AuditRecord.objects.filter(object_type="plugin_release").values_list("action", flat=True)
    assert set(actions) == {"plugin_release.created", "plugin_release.ready", "plugin_release.activated"}


def test_another_executor_image_is_a_release_without_a_download(installer, repository):
    checksum = repository.add("bq.tar.gz", plugin_archive("bq"))
    activate(installer, document(repository, entry("web", "bq", checksum)))
    asked = len(repository.requests)

    changed = entry("web", "bq", checksum, config={"executor_image": "registry.example/bq:2.0"})
    release = activate(installer, document(repository, changed))

    assert (release.downloaded, len(repository.requests)) == (0, asked)
    assert release.plugins.get().change == "released"


def test_a_rollback_downloads_nothing_and_brings_back_what_was_active(installer, repository, settings):
    first = repository.add("bq.tar.gz", plugin_archive("bq", version="1.0.0"))
    before = activate(installer, document(repository, entry("web", "bq", first)))
    second = repository.add("bq.tar.gz", plugin_archive("bq", version="2.0.0"))
    activate(installer, document(repository, entry("web", "bq", second)))
    asked = len(repository.requests)

    roll_back(before.id, actor=ACTOR)
    installer.step()

    assert PluginSet.objects.get().active_id == before.id
    assert len(repository.requests) == asked
    folder = active_folders(Path(settings.PLUGIN_ROOT) / "platform")["bq"]
    assert "1.0.0" in (folder / "optimus-plugin-bq.yaml").read_text()


def test_a_page_instead_of_an_archive_keeps_the_previous_version(installer, repository):
    good = repository.add("bq.tar.gz", plugin_archive("bq"))
    other = repository.add("dbt.tar.gz", plugin_archive("dbt"))
    activate(installer, document(repository, entry("web", "bq", good), entry("web", "dbt", other)))
    page = repository.add("bq.tar.gz", b"<!DOCTYPE html><html>Sign in</html>")
    newer = repository.add("dbt.tar.gz", plugin_archive("dbt", version="2.0.0"))

    release = activate(installer, document(repository, entry("web", "bq", page), entry("web", "dbt", newer)))

    bq = ReleasedPlugin.objects.get(release=release, name="bq")
    assert bq.artifact is None
    assert f"sha256:{bq.fallback.sha256}" == good
    assert "it is a web page" in bq.problem
    assert PluginInstallation.objects.get(release=release).state == "degraded"


@pytest.mark.parametrize(
    ("faults", "problem"),
    [
        (Faults(status=404), "responded with 404"),
        (Faults(redirect="http://192.0.2.1/x"), "private address"),
        (Faults(is_endless=True), "more than 100,000 bytes"),
    ],
)
def test_what_a_provider_does_wrong_is_said_and_nothing_becomes_active(
    installer, repository, settings, faults, problem
):
    settings.PLUGIN_MAX_BYTES = 100_000
    checksum = repository.add("bq.tar.gz", plugin_archive("bq"))
    repository.faults["bq.tar.gz"] = faults

    release = released(document(repository, entry("web", "bq", checksum)))
    steps_until(installer, lambda: release.plugins.exclude(problem="").exists())
    installer.step()

    assert problem in release.plugins.get().problem
    assert state_of(release) == "resolving"


def test_an_interrupted_download_goes_on_where_it_ended(installer, repository):
    archive = plugin_archive("bq")
    checksum = repository.add("bq.tar.gz", archive)
    repository.faults["bq.tar.gz"] = Faults(cut_after=100)

    release = activate(installer, document(repository, entry("web", "bq", checksum)))

    ranges = [headers.get("Range") for headers in repository.requests_for("bq.tar.gz")]
    assert ranges == [None, "bytes=100-"]
    assert release.downloaded == len(archive)


def test_a_wrong_checksum_is_refused_with_both_digests(installer, repository):
    repository.add("bq.tar.gz", plugin_archive("bq"))
    wrong = "sha256:" + "0" * 64

    release = released(document(repository, entry("web", "bq", wrong)))
    steps_until(installer, lambda: release.plugins.exclude(problem="").exists())

    assert "0" * 64 in release.plugins.get().problem
    assert not PluginSet.objects.get().artifacts.exists()


def test_a_published_checksum_is_used_where_the_configuration_has_none(installer, repository):
    checksum = repository.add("bq.tar.gz", plugin_archive("bq"))
    repository.add("bq.tar.gz.sha256", f"{checksum.removeprefix('sha256:')}  bq.tar.gz\n".encode())

    activate(installer, document(repository, entry("web", "bq")))


def test_a_provider_that_hangs_holds_back_no_other_and_follows_later(installer, repository):
    with running_repository() as slow:
        good = repository.add("bq.tar.gz", plugin_archive("bq"))
        late = slow.add("dbt.tar.gz", plugin_archive("dbt"))
        slow.faults["dbt.tar.gz"] = Faults(hang=3)
        content = document(repository, entry("web", "bq", good), entry("slow", "dbt", late))
        content["plugins"]["providers"].append({"type": "url", "name": "slow", "url": slow.url})

        release = activate(installer, content)
        assert "has not sent the archive yet" in release.plugins.get(name="dbt").problem

        steps_until(installer, lambda: release.plugins.get(name="dbt").artifact_id is not None)
        release.refresh_from_db()
        assert release.lock_revision == 1
        assert release.plugins.get(name="dbt").problem == ""


def test_a_credential_goes_to_its_provider_alone_and_is_nowhere_else(installer, repository, caplog):
    with running_repository() as elsewhere:
        checksum = elsewhere.add("bq.tar.gz", plugin_archive("bq"))
        repository.files["bq.tar.gz"] = b""
        repository.faults["bq.tar.gz"] = Faults(redirect=f"{elsewhere.url}/bq.tar.gz")
        secret = "s3cr3t-of-the-provider"
        content = document(
            repository, entry("web", "bq", checksum), auth={"type": "bearer", "secretRef": "web-token"}
        )
        release = released(content)
        write_secret(PluginSet.objects.get(), "web-token", secret, actor=ACTOR)
        steps_until(installer, lambda: state_of(release) == "active", seconds=30)

        assert {headers["Authorization"] for headers in repository.requests_for("bq.tar.gz")} == {
            f"Bearer {secret}"
        }
        assert all("Authorization" not in headers for _, headers in elsewhere.requests)
    rows = [*PluginRelease.objects.values(), *ReleasedPlugin.objects.values(), *AuditRecord.objects.values()]
    assert secret not in str(rows) + caplog.text


def test_a_release_waits_for_all_live_nodes_or_for_as_many_as_it_needs(installer, repository):
    checksum = repository.add("bq.tar.gz", plugin_archive("bq"))
    PluginNode.objects.create(name="node-b", server_version="0.1.0")
    release = released(document(repository, entry("web", "bq", checksum)))
    steps_until(installer, lambda: PluginRelease.objects.get(id=release.id).waiting_for != "")
    assert PluginRelease.objects.get(id=release.id).waiting_for == (
        "1 of 2 nodes have it. It waits for node-b."
    )

    cancel(release.id, actor=ACTOR)
    activate(installer, document(repository, entry("web", "bq", checksum)), min_active=1)


def test_another_installer_goes_on_after_one_was_killed(installer, repository, settings, tmp_path):
    checksum = repository.add("bq.tar.gz", plugin_archive("bq"))
    repository.faults["bq.tar.gz"] = Faults(hang=60)
    release = released(document(repository, entry("web", "bq", checksum)))
    installer.step()
    installer.resolver.close()
    PluginNode.objects.filter(name="node-a").delete()
    PluginRelease.objects.update(leased_until=release.created_at)
    del repository.faults["bq.tar.gz"]
    settings.PLUGIN_ROOT = str(tmp_path / "node-b")

    other = Installer("node-b", "0.1.0")
    steps_until(other, lambda: state_of(release) == "active")
    # What the first one wrote afterwards would be of an older epoch.
    assert PluginRelease.objects.get(id=release.id).lease_epoch == 2
    other.resolver.close()


def test_one_team_with_a_broken_configuration_stops_no_other(installer, repository, settings):
    team = create_team("ml", actor=ACTOR)
    released(document(repository, entry("web", "lost", "sha256:" + "1" * 64)), team)
    checksum = repository.add("bq.tar.gz", plugin_archive("bq"))

    activate(installer, document(repository, entry("web", "bq", checksum)))


def test_a_file_that_changes_reaches_the_node_without_another_download(
    installer, repository, settings, tmp_path
):
    checksum = repository.add("bq.tar.gz", plugin_archive("bq"))
    file = tmp_path / "plugins.yaml"
    settings.PLUGIN_CONFIG_PATH = str(file)
    installer.folder.settled_seconds = 0
    for number, image in enumerate(("registry.example/bq:1.0", "registry.example/bq:2.0"), start=1):
        plugin = entry("web", "bq", checksum, config={"executor_image": image})
        file.write_text(yaml.safe_dump(document(repository, plugin)))
        active = PluginRelease.objects.filter(state="active", number=number)
        steps_until(installer, active.exists)

    assert list(PluginRelease.objects.order_by("number").values_list("downloaded", flat=True)) == [
        len(repository.files["bq.tar.gz"]),
        0,
    ]
    assert len(repository.requests_for("bq.tar.gz")) == 1
