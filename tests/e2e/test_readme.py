"""Every command of the README and the guides runs, in order, in one shell, and shows what it promises."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.launcher import ROOT, Up

BLOCK = re.compile(r"```sh\n(.*?)```\n((?:<!-- shows: .*? -->\n?)*)", re.DOTALL)
PAGES = [
    "README.md",
    "docs/guides/overrides.md",
    "docs/tutorials/flytectl-to-git.md",
    "docs/guides/flyte.md",
    "docs/guides/agents.md",
    "docs/guides/cpctl.md",
    "docs/guides/agent-configurations.md",
]
SHOWS = re.compile(r"<!-- shows: (.*?) -->")


@pytest.fixture
def up(tmp_path):
    running = Up(tmp_path / ".data")
    running.wait_for("Ctrl-C stops everything")
    yield running
    running.stop(signal.SIGTERM)


def installed(folder: Path) -> Path:
    """A folder with cpctl in it, as pipx would make one."""
    program = folder / "bin" / "cpctl"
    program.parent.mkdir()
    command = f"PYTHONPATH={shlex.quote(str(ROOT))} {shlex.quote(sys.executable)}"
    program.write_text(f'#!/bin/sh\n{command} -m cpctl "$@"\n')
    program.chmod(0o755)
    return program.parent


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_do_what_it_says(up, tmp_path: Path, page: str):
    blocks = BLOCK.findall((ROOT / page).read_text())
    assert len(blocks) >= 6
    script = "set -euo pipefail\n"
    for number, (commands, _) in enumerate(blocks):
        script += commands.replace("localhost:8000", f"localhost:{up.port}")
        script += f"\necho; echo '== end of {number}'\n"

    ran = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path), "PATH": f"{installed(tmp_path)}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    shown = re.split(r"== end of \d+\n", ran.stdout)
    for (commands, marks), output in zip(blocks, shown, strict=False):
        for mark in SHOWS.findall(marks):
            assert mark in output, f"{commands}\nshowed:\n{output}"
