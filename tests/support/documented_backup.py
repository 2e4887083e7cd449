"""The commands of docs/operations.md, "Back up and restore", and a folder in which they run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.support.paths import ROOT


def commands(name: str) -> str:
    """The block of the page that is marked with this name."""
    page = (ROOT / "docs" / "operations.md").read_text()
    (block,) = re.findall(
        rf"<!-- run by tests/integration/controlplane/local/test_backup.py: {name} -->\n```sh\n(.*?)```",
        page,
        re.DOTALL,
    )
    return str(block)


def checkout(folder: Path) -> Path:
    """A folder in which the commands of the page find what they find in a checkout."""
    python = folder / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(
        f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.quote(sys.executable)} "$@"\n'
    )
    python.chmod(0o755)
    (folder / "manage.py").symlink_to(ROOT / "manage.py")
    return folder


def run(script: str, folder: Path) -> str:
    # A shell of the operator's, with addresses of other databases in its environment.
    wrong = {"PGHOST": "elsewhere.example", "PGUSER": "nobody", "DATABASE_URL": "postgresql:///nowhere"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, **wrong},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
