"""Backup and restore, as docs/operations.md has it: a dump of one machine, and a moment of an archive.

The second one restores a base backup and the archived write-ahead log to a second, under agents that go on.
"""

from __future__ import annotations

import json
import signal
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

from controlplane.local import Services
from tests.support.documented_backup import checkout, commands, run
from tests.support.launcher import Up
from tests.support.patroni import short_folder
from tests.support.restored_site import INTERVAL_SECONDS, RestoredSite
from tests.support.waiting import until

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


@pytest.fixture
def site(services: Services) -> Iterator[RestoredSite]:
    with short_folder() as folder:
        site = RestoredSite(services, folder)
        try:
            yield site
        finally:
            site.close()


def test_a_restore_to_a_second_says_what_is_lost_and_agents_go_on(site: RestoredSite) -> None:
    site.postgres.back_up()
    for number in range(20):
        site.write(f"kept-{number}")
    exported, kept = site.export(), site.last_number()
    moment = site.a_second_between()
    for number in range(5):
        site.write(f"lost-{number}")
    known, changed = site.last_number(), site.export()
    assert changed != exported

    began = time.monotonic()
    site.stop()
    site.postgres.lose()
    site.postgres.restore(moment)
    restored = time.monotonic() - began
    assert site.postgres.timeline() == 2
    site.manage("migrate", "--verbosity", "0")
    site.manage("after_restore", "--last-known-event", str(known), "--last-known-revision", "0")
    site.start()
    outage = time.monotonic() - began

    began = time.monotonic()
    site.beats.answers.clear()
    until(lambda: len(site.beats.answers) == len(site.agents), 60, lambda: site.beats.statuses)
    healed = time.monotonic() - began
    time.sleep(2 * INTERVAL_SECONDS)
    _, silent = site.ask("GET", "events?type=agent.unavailable&after=0")
    print(
        f"\nlost events {known - kept}, restored in {restored:.1f} s, outage {outage:.1f} s"
        f", all {len(site.agents)} agents heard after {healed:.1f} s"
        f", wrongly unavailable {len(silent['items'])}, exported {len(exported)} bytes",
        flush=True,
    )
    assert silent["items"] == []
    assert healed <= 2 * INTERVAL_SECONDS
    assert site.export() == exported

    status, gone = site.ask("GET", f"events?after={known}")
    assert (status, gone["code"]) == (410, "events_gone")
    site.write("after")
    _, page = site.ask("GET", f"events?after={gone['oldest_seq']}&type=project.created")
    assert [event["object_id"] for event in page["items"]] == ["after"]
    assert page["items"][0]["seq"] > known + 1_000_000
