"""Overrides from a folder in a whole running system: loaded at start, reloaded while it runs, never half."""

from __future__ import annotations

import json
import signal
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.support.launcher import Up
from tests.support.waiting import until

PROJECT = "apiVersion: 1\nkind: project\nid: ml\nname: Learning\n"


def document(cpu: str) -> str:
    return f'kind: overrides\nproject: ml\nspec:\n  taskResources:\n    defaults: {{cpu: "{cpu}"}}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "overrides"
    folder.mkdir()
    (folder / "installation.yaml").write_text(PROJECT)
    (folder / "ml.yaml").write_text(document("1"))
    return folder


@pytest.fixture
def up(tmp_path: Path, folder: Path):
    settings = {"OVERRIDES_SOURCE": "file", "OVERRIDES_PATH": str(folder), "OVERRIDES_RELOAD_SECONDS": "1"}
    running = Up(tmp_path / "data", "--no-demo", **settings)
    try:
        running.wait_for("Ctrl-C stops everything")
        yield running
    finally:
        running.stop(signal.SIGTERM)


def ask(up: Up, path: str, method: str = "GET", body: Any = None) -> tuple[int, Any]:
    token = (up.data_dir / "admin.token").read_text().strip()
    request = urllib.request.Request(
        f"{up.url}/api/v1/{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def cpu(up: Up) -> str:
    _, answer = ask(up, "overrides/effective?project=ml&resource_type=task_resource")
    return str(answer["items"][0]["attributes"]["defaults"]["cpu"])


def test_files_are_in_force_at_start_reloaded_while_it_runs_and_kept_when_bad(up, folder):
    assert (cpu(up), ask(up, "overrides/source")[1]["state"]) == ("1", "current")

    (folder / "ml.yaml").write_text(document("2"))
    until(lambda: cpu(up) == "2")

    (folder / "ml.yaml").write_text(document("3") + "oops")
    until(lambda: ask(up, "overrides/source")[1]["state"] == "failing")
    _, source = ask(up, "overrides/source")
    assert (source["errors"][0]["file"], source["errors"][0]["line"]) == ("ml.yaml", 7)
    # Every web process answers alike: what is in force lies in the database.
    assert {cpu(up) for _ in range(20)} == {"2"}

    status, problem = ask(
        up, "overrides/task_resource?project=ml", "PUT", {"attributes": {"defaults": {"cpu": "9"}}}
    )
    assert (status, problem["code"]) == (409, "source_is_read_only")
