"""Every command of the README and the guides shows what it promises, page after page, in one installation."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.launcher import ROOT, Up

BLOCK = re.compile(r"```sh\n(.*?)```\n((?:<!-- shows: .*? -->\n?)*)", re.DOTALL)
PAGES = [
    "README.md",
    "docs/guides/overrides.md",
    "docs/tutorials/flytectl-to-git.md",
    "docs/guides/flyte.md",
    "docs/guides/agents.md",
    "docs/guides/resources.md",
    "docs/guides/cpctl.md",
    "docs/guides/teams-and-roles.md",
    "docs/guides/agent-configurations.md",
    "docs/concepts/scope-ladder.md",
    "docs/concepts/lease-and-guard.md",
    "docs/concepts/bundle-and-acknowledgement.md",
    "docs/api-conventions.md",
]
SHOWS = re.compile(r"<!-- shows: (.*?) -->")


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """One installation for all pages: who has followed one can follow the next."""
    running = Up(tmp_path_factory.mktemp("readme") / ".data")
    try:
        running.wait_for("Ctrl-C stops everything", seconds=120)
        installed(running.data_dir.parent)
        yield running
    finally:
        running.stop(signal.SIGTERM)


def installed(folder: Path) -> None:
    """Put cpctl into its folder `bin`, as pipx would."""
    program = folder / "bin" / "cpctl"
    program.parent.mkdir()
    command = f"PYTHONPATH={shlex.quote(str(ROOT))} {shlex.quote(sys.executable)}"
    program.write_text(f'#!/bin/sh\n{command} -m cpctl "$@"\n')
    program.chmod(0o755)


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_do_what_it_says(up: Up, page: str) -> None:
    folder = up.data_dir.parent
    blocks = BLOCK.findall((ROOT / page).read_text())
    assert len(blocks) >= 6
    script = "set -euo pipefail\n"
    for number, (commands, _) in enumerate(blocks):
        script += commands.replace("localhost:8000", f"localhost:{up.port}")
        script += f"\necho; echo '== end of {number}'\n"

    ran = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, "HOME": str(folder), "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    parts = re.split(r"== end of \d+\n", ran.stdout)
    for (commands, marks), output in zip(blocks, parts, strict=False):
        for mark in SHOWS.findall(marks):
            assert mark in output, f"{commands}\nshowed:\n{output}"
