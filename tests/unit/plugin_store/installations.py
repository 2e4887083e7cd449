"""Sets of plugins for tests, and a program that installs one, and can be killed at any step.

`python -m tests.unit.plugin_store.installations ROOT VERSION [STEP COUNT]`, or such arguments as input.
"""

from __future__ import annotations

import hashlib
import io
import os
import signal
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from plugin_store.digests import Checksum
from plugin_store.generations import active_folders
from plugin_store.installation import install
from plugin_store.plugin_requests import InstallOptions, InstallReport, PluginRequest
from plugin_store.progress import Step
from tests.unit.plugin_store.archives import contents, tar_gz, zip_of

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
NAMES = ("bq2bq", "transporter")


@dataclass
class Bytes:
    """A source that counts how often it is opened."""

    content: bytes
    opened: int = 0
    size: int | None = None
    on_read: list[Any] = field(default_factory=list)

    def open(self) -> AbstractContextManager[BinaryIO]:
        self.opened += 1
        for action in self.on_read:
            action()
        return io.BytesIO(self.content)


def files_of(name: str, version: str) -> dict[str, bytes]:
    return {
        "plugin.yaml": f"name: {name}\npluginversion: {version}\n".encode(),
        "a/q.sql": version.encode() * 9,
    }


def request(name: str, version: str, **changes: Any) -> PluginRequest:
    archive = (tar_gz if name == "bq2bq" else zip_of)(files_of(name, version))
    suffix = "tar.gz" if name == "bq2bq" else "zip"
    facts: dict[str, Any] = {
        "provider": "local",
        "file_name": f"{name}.{suffix}",
        "source": Bytes(archive),
        "version": version,
        "checksum": Checksum("sha256", hashlib.sha256(archive).hexdigest()),
    }
    return PluginRequest(name=name, **(facts | changes))


def requests_of(version: str, names: Iterable[str] = NAMES) -> list[PluginRequest]:
    return [request(name, version) for name in names]


def install_version(root: Path, version: str, **options: Any) -> InstallReport:
    return install(root, requests_of(version), now=NOW, options=InstallOptions(**options))


def installed(root: Path) -> dict[str, dict[str, bytes]]:
    """What a reader finds: the files of every active plugin."""
    return {name: contents(folder) for name, folder in active_folders(root).items()}


def expected(version: str, names: Iterable[str] = NAMES) -> dict[str, dict[str, bytes]]:
    return {name: files_of(name, version) for name in names}


def install_or_die(root: str, version: str, *victim: str) -> None:
    """Install a version; with the name of a step and a number, die when it is reached for the n-th time."""
    passed = 0

    def kill_at(step: Step, plugin: str) -> None:
        nonlocal passed
        passed += victim[:1] == (step,)
        if victim and passed == int(victim[1]):
            os.kill(os.getpid(), signal.SIGKILL)

    install(Path(root), requests_of(version), now=NOW, progress=kill_at)


def serve() -> None:
    """Install in a process of its own for each line of arguments, and answer with its status.

    A fork of a process with everything imported is ten times as fast as a new interpreter.
    """
    for line in sys.stdin:
        if not (child := os.fork()):
            install_or_die(*line.rstrip("\n").split("\t"))
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        install_or_die(*sys.argv[1:])
    else:
        serve()
