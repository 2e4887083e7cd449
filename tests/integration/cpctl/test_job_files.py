"""The name of a job on the command line and in its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpctl.exits import Exit
from tests.support.cpctl_in_process import CpctlInProcess


@pytest.mark.parametrize("text", ["task: {name: bq}\n", "name: [a]\n", "- a\n", "name: a\n---\nname: b\n"])
def test_a_file_without_one_name_is_refused_before_anything_is_sent(tmp_path: Path, text: str) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(text)
    with CpctlInProcess(tmp_path, "http://127.0.0.1:9", "x") as cpctl:
        ran = cpctl("jobs", "apply", str(file), "-p", "shop", "--yes")
    assert ran.code == Exit.USAGE
    assert "has no name of a job." in ran.err
