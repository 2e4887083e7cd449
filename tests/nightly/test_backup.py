"""Backup and restore of one machine between two real `make up`, with the commands of docs/operations.md."""

from __future__ import annotations

import json
import signal
import urllib.request
from pathlib import Path

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

from tests.support.documented_backup import checkout, commands, run
from tests.support.launcher import Up

READY = "Ctrl-C stops everything."


def ask(up: Up, method: str, path: str, body: object = None) -> dict:
    token = (up.data_dir / "admin.token").read_text().strip()
    request = urllib.request.Request(
        f"{up.url}/api/v1/{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def export(up: Up) -> bytes:
    """Return all overrides as YAML."""
    token = (up.data_dir / "admin.token").read_text().strip()
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/yaml"}
    request = urllib.request.Request(f"{up.url}/api/v1/overrides/export", headers=headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return bytes(answer.read())


def started(folder: Path, **environment: str) -> Up:
    up = Up(folder, "--no-demo", **environment)
    up.wait_for(READY)
    return up


def test_a_backup_of_one_machine_can_be_restored(tmp_path: Path) -> None:
    folder = checkout(tmp_path)
    bytecode = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path / "bytecode")}
    first = started(folder / ".data", **bytecode)
    try:
        ask(first, "POST", "scopes/projects", {"id": "ads"})
        ask(first, "PUT", "overrides/task_resource?project=ads", {"attributes": {"limits": {"cpu": "2"}}})
        last = ask(first, "GET", "events?limit=200")["items"][0]["seq"]

        exported = export(first)
        tables = run(commands("back up"), folder)
    finally:
        first.stop(signal.SIGKILL)
    assert int(tables) > 30

    second = started(folder / ".data2", **bytecode)
    try:
        run(commands("restore"), folder)
    finally:
        second.stop()
    again = started(folder / ".data2", **bytecode)
    try:
        (override,) = ask(again, "GET", "overrides?project=ads")["items"]
        assert override["attributes"] == {"limits": {"cpu": "2"}}
        assert b"ads" in exported
        assert export(again) == exported
        ask(again, "PUT", "overrides/task_resource?domain=staging", {"attributes": {"limits": {"cpu": "3"}}})
        events = ask(again, "GET", "events?limit=200")["items"]
        assert {event["seq"] <= last for event in events if event["object_id"].endswith("ads")} == {True}
        assert events[0]["seq"] > last + 1_000_000, "followers would miss events"
        with (
            pytest.raises(InsufficientPrivilege),
            psycopg.connect(again.environment_of("-A controlplane worker")["DATABASE_URL"]) as worker,
        ):
            worker.execute("DELETE FROM access_auditrecord")
    finally:
        again.stop()
