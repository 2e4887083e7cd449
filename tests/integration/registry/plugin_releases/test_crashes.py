"""Installers that are killed between any two steps: a node has the old plugins or the new ones."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from plugin_store.generations import active_folders
from registry.plugin_releases.content_store import FolderStore
from registry.plugin_releases.models import PluginArtifact, PluginInstallation, PluginRelease, PluginSet
from tests.support.installer_process import InstallerProcess, running_installer
from tests.support.plugin_repository import Faults, PluginRepository, plugin_archive, running_repository
from tests.support.plugin_sets import document, entry, released, state_of
from tests.support.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)
NAMES = ("bq", "dbt", "python")
ALL_POINTS = (
    *("plugins claimed", "plugin fetched", "plugin stored", "plugin stored:3", "artifact noted"),
    *("artifact noted:2", "plugin noted:2", "release ready", "plugins locked", "plugins copied:2"),
    *("plugins extracted:2", "plugins flushed", "plugins announced", "plugins placed", "plugins placed:2"),
    *("plugins manifest_written", "plugins switched", "installation reported", "release activating"),
)
_USUAL_POINTS = ("artifact noted:2", "plugins placed:2", "plugins switched")


@pytest.fixture(autouse=True)
def _settings(settings: Any, tmp_path: Path) -> None:
    settings.OUTGOING_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    settings.PLUGIN_STORE = str(tmp_path / "store")
    settings.PLUGIN_ROOT = str(tmp_path / "node")
    settings.PLUGIN_FETCH_GRACE_SECONDS = 30


@pytest.fixture
def repository() -> Iterator[PluginRepository]:
    with running_repository() as repository:
        yield repository


def release_of(repository: PluginRepository, version: str) -> PluginRelease:
    """Publish all plugins in this version, and release them."""
    entries = [
        entry("web", name, repository.add(f"{name}.tar.gz", plugin_archive(name, version=version)))
        for name in NAMES
    ]
    return released(document(repository, *entries))


def versions(root: Path) -> dict[str, str]:
    """Return what readers on a node see: the version of each plugin, from its files."""
    return {
        name: yaml.safe_load((folder / f"optimus-plugin-{name}.yaml").read_text())["pluginversion"]
        for name, folder in active_folders(root / "platform").items()
    }


def all_of(version: str) -> dict[str, str]:
    return dict.fromkeys(NAMES, version)


def kill_installers_at(points: Sequence[str], repository: PluginRepository, folder: Path) -> None:
    """Kill an installer at each point while it brings a new version; the next one completes it."""
    log, root = folder / "installer.log", folder / "node"
    complete(release_of(repository, "0.0.0"), log)
    for number, point in enumerate(points):
        old, new = f"{number}.0.0", f"{number + 1}.0.0"
        before = PluginSet.objects.get().active_id
        release = release_of(repository, new)

        assert InstallerProcess(log, FAILPOINT=point).wait(60) == -signal.SIGKILL, (point, log.read_text())

        assert versions(root) in (all_of(old), all_of(new)), point
        assert PluginSet.objects.get().active_id in (before, release.id), point
        check_store(folder / "store")
        complete(release, log)
        assert versions(root) == all_of(new), point
        assert PluginInstallation.objects.get().release_id == release.id


def complete(release: PluginRelease, log: Path) -> None:
    """Have an installer bring the release to its end, and end itself when it is asked to."""
    with running_installer(log) as process:
        until(lambda: state_of(release) == "active", 60, log.read_text)
        until(lambda: release.installations.filter(state="active").exists(), 60, log.read_text)
        assert process.stop() == 0, log.read_text()


def check_store(root: Path) -> None:
    """Every row has its archive, whole: a row is written after its archive."""
    store = FolderStore(root)
    for artifact in PluginArtifact.objects.all():
        assert store.size(artifact.sha256) == artifact.size


def test_a_killed_installer_leaves_the_old_plugins_or_the_new_ones(repository, tmp_path):
    kill_installers_at(_USUAL_POINTS, repository, tmp_path)


def test_two_installers_fetch_each_archive_once_and_both_install_it(repository, tmp_path):
    first, second = tmp_path / "first.log", tmp_path / "second.log"
    other = tmp_path / "other-node"
    with running_installer(first), running_installer(second, node="node-b", PLUGIN_ROOT=str(other)):
        until(lambda: first.read_text() and second.read_text(), 60)
        release = release_of(repository, "1.0.0")
        until(lambda: release.installations.filter(state="active").count() == 2, 60, first.read_text)

    assert versions(tmp_path / "node") == versions(other) == all_of("1.0.0")
    assert sorted(path for path, _ in repository.requests) == [f"{name}.tar.gz" for name in NAMES]


def test_a_node_whose_folder_was_lost_gets_the_active_release_without_a_download(repository, tmp_path):
    log = tmp_path / "installer.log"
    release = release_of(repository, "1.0.0")
    complete(release, log)
    asked = len(repository.requests)
    shutil.rmtree(tmp_path / "node")

    with running_installer(log):
        until(lambda: (tmp_path / "node" / "platform").exists() and versions(tmp_path / "node"), 60)

    assert versions(tmp_path / "node") == all_of("1.0.0")
    assert len(repository.requests) == asked


def test_an_installer_that_is_stopped_does_not_wait_for_a_provider_that_hangs(repository, tmp_path):
    log = tmp_path / "installer.log"
    release_of(repository, "1.0.0")
    repository.faults["bq.tar.gz"] = Faults(hang=60)
    with running_installer(log) as process:
        until(lambda: repository.requests_for("bq.tar.gz"), 60, log.read_text)
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(5) == 0, log.read_text()
