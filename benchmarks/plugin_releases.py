"""Releases of plugins: from their creation until jobs use them, with one installer process.

* 200 plugins of 8 providers: the first release, and a new version of all while one provider hangs;
* that provider's plugins, once it answers again;
* another executor image for all, and a rollback, which download nothing.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import django

from benchmarks.machine import CPUS
from benchmarks.plugin_players import Providers, archive_of, providers
from benchmarks.stage import ROOT, Stage, stage
from benchmarks.table import write
from controlplane.local.data_folder import secrets_key_file

if TYPE_CHECKING:
    from registry.plugin_releases.models import PluginRelease

_PROVIDERS = 8
_HANGING = "provider-7"
_HEAD = ("Work", "seconds", "MB downloaded", "target")


@dataclass(frozen=True, slots=True)
class Measured:
    work: str
    seconds: float
    megabytes: float
    target: str = ""

    def line(self) -> str:
        return f"| {self.work} | {self.seconds:.1f} | {self.megabytes:.1f} | {self.target} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--plugins", type=int, default=200, help="Plugins of all providers together.")
    parser.add_argument("--kilobytes", type=int, default=100, help="Size of each archive.")
    parser.add_argument("--write", action="store_true", help="Write the table to docs/performance.md.")
    arguments = parser.parse_args()
    with (
        stage({"OUTGOING_ALLOWED_NETWORKS": "127.0.0.0/8"}, processors=CPUS) as running,
        providers() as players,
    ):
        running.environment |= {
            "SECRETS_KEY_FILE": str(secrets_key_file(running.folder)),
            "PLUGIN_STORE": str(running.folder / "store"),
            "PLUGIN_ROOT": str(running.folder / "installed"),
        }
        os.environ.update(running.environment)
        django.setup()
        rows = list(_measure(running, Race(players, arguments.plugins, arguments.kilobytes * 1024)))
    lines = [f"| {' | '.join(_HEAD)} |", "| --- | --- | --- | --- |", *(row.line() for row in rows)]
    text = "\n".join(lines)
    print(text)
    if arguments.write:
        write(text, "plugin-releases")


def _measure(running: Stage, race: Race) -> Iterator[Measured]:
    first = race.publish("1.0.0")
    yield Measured(
        f"the same {race.plugins} downloads by 32 threads, not verified", race.bare(first), race.size
    )
    with _installer(running) as installer:
        release, seconds = race.release(first)
        yield Measured(f"{race.plugins} plugins of {_PROVIDERS} providers", seconds, _megabytes(release))
        race.players.hang(_HANGING)
        release, seconds = race.release(race.publish("2.0.0"))
        late = release.plugins.filter(artifact=None).count()
        work = f"a new version of all, while the provider of {late} hangs: the other {race.plugins - late}"
        yield Measured(work, seconds, _megabytes(release), "10")
        race.players.recover(_HANGING)
        seconds = _until(lambda: not release.plugins.filter(artifact=None).exists())
        release.refresh_from_db()
        yield Measured(f"the {late}, once their provider answers again", seconds, _megabytes(release))
        images = [{**entry, "config": {"executor_image": "registry.example/e:2"}} for entry in race.entries]
        release, seconds = race.release(images)
        yield Measured("another executor image for all", seconds, _megabytes(release))
        yield Measured("a rollback of all", race.roll_back(), 0)
        race.players.hang(_HANGING)
        race.create(race.publish("3.0.0"))
        time.sleep(3)
        yield Measured("the end of an installer, while a provider hangs", _stop(installer), 0)


class Race:
    """The plugins of a configuration, and releases of them."""

    def __init__(self, players: Providers, plugins: int, size: int) -> None:
        self.players, self.plugins, self.bytes = players, plugins, size
        self.entries: list[dict[str, Any]] = []

    @property
    def size(self) -> float:
        return self.plugins * self.bytes / 1e6

    def publish(self, version: str) -> list[dict[str, Any]]:
        """Publish this version of all plugins, and return their entries of the configuration."""
        self.entries = [self._publish(number, version) for number in range(self.plugins)]
        return self.entries

    def _publish(self, number: int, version: str) -> dict[str, Any]:
        name, provider = f"plugin-{number}", f"provider-{number % _PROVIDERS}"
        path = f"{name}-{version}.tar.gz"
        sha256 = self.players.publish(f"{provider}/{path}", archive_of(name, version, self.bytes))
        config = {"executor_image": "registry.example/e:1"}
        return {
            "provider": provider,
            "output": name,
            "path": path,
            "checksum": f"sha256:{sha256}",
            "config": config,
        }

    def bare(self, entries: list[dict[str, Any]]) -> float:
        """Return the seconds that the downloads alone take."""
        from controlplane.downloads import DownloadTerms, download

        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(32) as threads:
            for entry in entries:
                url = f"{self.players.url}/{entry['provider']}/{entry['path']}"
                threads.submit(download, url, Path(folder) / entry["output"], DownloadTerms())
        return time.monotonic() - began

    def create(self, entries: list[dict[str, Any]]) -> PluginRelease:
        import yaml

        from controlplane.identity.actors import system
        from registry.plugin_releases.config_changes import write_config
        from registry.plugin_releases.release_changes import ReleaseTerms, create_release
        from registry.plugins.documents.configuration import read_configuration

        actor = system("benchmark")
        sources = [
            {"type": "url", "name": f"provider-{number}", "url": f"{self.players.url}/provider-{number}"}
            for number in range(_PROVIDERS)
        ]
        text = yaml.safe_dump({"plugins": {"providers": sources, "plugins": entries}})
        write_config(None, read_configuration(text), precondition=None, actor=actor)
        return create_release(None, ReleaseTerms(), actor=actor)

    def release(self, entries: list[dict[str, Any]]) -> tuple[PluginRelease, float]:
        """Release the entries; return the release and how long it took until it was active."""
        release = self.create(entries)
        seconds = _until(lambda: _is_installed(release.id))
        release.refresh_from_db()
        return release, seconds

    def roll_back(self) -> float:
        from controlplane.identity.actors import system
        from registry.plugin_releases.models import PluginRelease
        from registry.plugin_releases.release_changes import roll_back

        first = PluginRelease.objects.get(number=1)
        roll_back(first.id, actor=system("benchmark"))
        return _until(lambda: _is_installed(first.id))


def _is_installed(release: UUID) -> bool:
    """Whether jobs use the release, and the node has reported it."""
    from registry.plugin_releases.models import PluginInstallation, PluginSet

    return (
        PluginSet.objects.filter(active_id=release).exists()
        and PluginInstallation.objects.filter(release_id=release, state__in=("active", "degraded")).exists()
    )


def _megabytes(release: PluginRelease) -> float:
    return release.downloaded / 1e6


def _until(condition: Callable[[], bool]) -> float:
    """Return the seconds until the condition holds."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() > began + 300:
            raise RuntimeError("It did not get there in 300 s.")
        time.sleep(0.05)
    return time.monotonic() - began


@contextmanager
def _installer(running: Stage) -> Iterator[subprocess.Popen[bytes]]:
    from registry.plugin_releases.models import PluginNode

    with (running.folder / "installer.log").open("ab") as log:
        command = [sys.executable, "manage.py", "plugin_installer", "--node", "node-a"]
        process = subprocess.Popen(command, cwd=ROOT, env=running.environment, stdout=log, stderr=log)
        try:
            _until(PluginNode.objects.exists)
            yield process
        finally:
            process.kill()
            process.wait()


def _stop(process: subprocess.Popen[bytes]) -> float:
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.wait(120)
    return time.monotonic() - began


if __name__ == "__main__":
    main()
