"""Checkouts of earlier states and of a later release, whose programs run beside each other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.next_release import LAST
from tests.support.paths import ROOT

# The oldest state whose processes tell of their versions, so that they can run beside later ones.
FIRST_WITH_PRESENCE = "controlplane/members/presence.py"
_LATER_MIGRATIONS = ROOT / "tests" / "support" / "next_release"
_VERSION = re.compile(r'^__version__ = ".*"$', re.MULTILINE)
_SERVING = ("-m", "controlplane.serving", "--workers", "1", "--stop-seconds", "10")
_CELERY = ("-m", "celery", "-A", "controlplane")


@dataclass(frozen=True, slots=True)
class Release:
    """A checkout, and the Python that has its libraries."""

    version: str
    folder: Path
    python: str = sys.executable

    def command(self, process: str, folder: Path, port: int = 0) -> tuple[str, ...]:
        """Return how to start a process of an installation. port: of a web server."""
        worker = ("worker", "--without-gossip", "--without-mingle", "--concurrency", "1", "-l", "WARNING")
        beat = ("beat", "--schedule", str(folder / "beat"), "--pidfile", "", "-l", "WARNING")
        commands = {
            "worker": (*_CELERY, *worker),
            "beat": (*_CELERY, *beat),
            "relay": (str(self.folder / "manage.py"), "relay", "--skip-checks"),
        }
        return (self.python, *commands.get(process, (*_SERVING, "--port", str(port))))

    def manage(self, environment: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command of manage.py to its end."""
        return self.run(environment, str(self.folder / "manage.py"), *words)

    def run(self, environment: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.python, *words],
            env={**os.environ, **environment, "PYTHONPATH": str(self.folder)},
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )


def commit_of(path: str) -> str:
    """Return the commit that added a file; empty in a clone without it, such as a shallow one."""
    return _git("log", "--diff-filter=A", "--format=%H", "--", path).split("\n")[0]


def commit_that_wrote(text: str, path: str) -> str:
    """Return the first commit whose file has a text; empty in a clone without it."""
    return _git("log", "--reverse", "--format=%H", f"-S{text}", "--", path).split("\n")[0]


def earlier(commit: str, folder: Path, version: str) -> Release:
    """Unpack a commit. Where its libraries are not ours, they are installed for it."""
    _unpack(("git", "archive", commit), folder)
    same = all(
        (folder / name).read_bytes() == (ROOT / name).read_bytes()
        for name in ("requirements/core.txt", "requirements/runtime.txt")
        if (folder / name).exists()
    )
    return Release(version, folder, sys.executable if same else _install(folder))


def later(folder: Path, version: str) -> Release:
    """Return the release after this one: this checkout, with migrations that add and that drop something."""
    _unpack(("sh", "-c", "git ls-files -z | tar --create --null --files-from=-"), folder)
    program = folder / "controlplane" / "__init__.py"
    program.write_text(_VERSION.sub(f'__version__ = "{version}"', program.read_text()))
    for migration in sorted(_LATER_MIGRATIONS.glob("9*.py")):
        text = migration.read_text().replace("from tests.support.next_release import LAST\n", "")
        text = text.replace(", LAST)", f', "{LAST}")')
        text = text.replace('unused_since = "0.1.0"', f'unused_since = "{version}"')
        (folder / "migrations" / "installation" / migration.name).write_text(text)
    return Release(version, folder)


def _unpack(archive: tuple[str, ...], folder: Path) -> None:
    folder.mkdir(parents=True)
    packed = subprocess.run(archive, cwd=ROOT, check=True, capture_output=True)
    subprocess.run(["tar", "--extract", "--directory", str(folder)], input=packed.stdout, check=True)


def _install(folder: Path) -> str:
    uv = str(ROOT / ".tools" / "uv" / "bin" / "uv")
    python = folder / ".venv" / "bin" / "python"
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(folder / ".venv")], check=True)
    install = [uv, "pip", "install", "--quiet", "--python", str(python), "--require-hashes"]
    subprocess.run([*install, "-r", str(folder / "requirements" / "runtime.txt")], check=True, cwd=folder)
    return str(python)


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=False, capture_output=True, text=True).stdout
