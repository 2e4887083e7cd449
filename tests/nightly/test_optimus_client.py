"""The real `optimus` of raystack/optimus against our doors. `OPTIMUS_CLIENT` names its program.

Built by `go build` of version 5874457c: `OPTIMUS_CLIENT=../optimus make nightly LANE=optimus_client`.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.another_server import another_server
from tests.support.plugin_sets import release_plugins

CLIENT = os.environ.get("OPTIMUS_CLIENT", "")
pytestmark = pytest.mark.skipif(
    not CLIENT, reason="OPTIMUS_CLIENT is not set: name the program `optimus` of raystack/optimus."
)


def sync(url: str, folder: Path) -> subprocess.CompletedProcess[str]:
    config = {
        "version": 1,
        "host": url.removeprefix("http://"),
        "project": {"name": "shop"},
        "namespaces": [{"name": "sales", "job": {"path": "jobs"}}],
    }
    (folder / "optimus.yaml").write_text(yaml.safe_dump(config))
    command = [str(Path(CLIENT).resolve()), "plugin", "sync", "-c", "optimus.yaml"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_plugin_sync_writes_the_specifications(live: Any, tmp_path: Path) -> None:
    release_plugins("bq", "mail")
    with another_server(live, tmp_path, OPTIMUS_COMPAT="true", ANONYMOUS_READ="true") as url:
        ran = sync(url, tmp_path)

    assert ran.returncode == 0, ran.stdout + ran.stderr
    written = sorted(path.name for path in (tmp_path / ".plugins").iterdir())
    assert written == ["optimus-plugin-bq.yaml", "optimus-plugin-mail.yaml"]
    checked = [str(Path(CLIENT).resolve()), "plugin", "validate", "--path", ".plugins"]
    assert subprocess.run(checked, cwd=tmp_path, check=False).returncode == 0


def test_plugin_sync_without_anonymous_reads_writes_nothing(live: Any, tmp_path: Path) -> None:
    release_plugins("bq")
    with another_server(live, tmp_path, OPTIMUS_COMPAT="true") as url:
        ran = sync(url, tmp_path)

    assert ran.returncode != 0
    assert not list((tmp_path / ".plugins").glob("*"))
