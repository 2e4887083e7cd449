"""The loss of a region: its asynchronous standby in another one takes over, and says what was lost.

The runbook is in docs/operations.md, "Regions". Both regions are on this machine, with real servers.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings

from controlplane.database.roles import WEB
from controlplane.local import Services
from controlplane.local.programs import stop_all
from tests.conftest import system_environment
from tests.support.api_client import AGENT, token_for
from tests.support.fleet import Plane
from tests.support.paths import ROOT
from tests.support.standby import Standby
from tests.support.waiting import is_reachable, until

pytestmark = pytest.mark.django_db(transaction=True)
BEAT = {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}


@pytest.fixture
def standby(services: Services, transactional_db: None) -> Iterator[Standby]:
    standby = Standby(services.environment["DATABASE_URL"])
    yield standby
    standby.stop()


class Region:
    """A web server on the Postgres of its region."""

    def __init__(self, environment: dict[str, str], database: str, folder: Path, token: str) -> None:
        url = database.replace("//controlplane@", f"//{WEB}@")
        self.plane = Plane({**environment, "DATABASE_URL": url}, folder)
        self.token = token
        self.port = self.plane.serve()
        until(lambda: is_reachable(f"http://127.0.0.1:{self.port}/readyz"), 90)

    def send(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        connected = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body)
        connected.request(method, f"/api/v1/{path}", content, headers)
        answer = connected.getresponse()
        return answer.status, json.loads(answer.read() or b"null")

    def create(self, project: str) -> None:
        assert self.send("POST", "scopes/projects", {"id": project, "name": project})[0] == 201

    def stop(self) -> None:
        stop_all(self.plane.running, patience=10)


def test_the_other_region_goes_on_and_says_what_was_lost(
    services: Services, standby: Standby, tmp_path: Path
) -> None:
    environment, token = system_environment(services), token_for("admin")
    here = Region(environment, environment["DATABASE_URL"], tmp_path, token)
    here.create("kept")
    _, agent = here.send("POST", "agents", AGENT)
    beat = f"agents/{agent['agent_id']}/heartbeat"
    assert here.send("PUT", beat, BEAT)[0] == 200
    kept = last_number(here)
    until(lambda: standby.has_replayed(position(environment["DATABASE_URL"])), 30)
    standby.kill()
    for number in range(5):
        here.create(f"lost-{number}")
    known = last_number(here)
    here.stop()

    began = time.monotonic()
    standby.promote_alone()
    there_url = standby.url(settings.DATABASES["default"]["NAME"])
    run_after_restore(environment, there_url, known)
    there = Region(environment, there_url, tmp_path, token)
    print(f"\nstandby promoted and served after {time.monotonic() - began:.1f} s", flush=True)

    projects = {project["id"] for project in there.send("GET", "scopes/projects?limit=200")[1]["items"]}
    assert "kept" in projects
    assert not {name for name in projects if name.startswith("lost-")}
    status, gone = there.send("GET", f"events?after={known}")
    assert (status, gone["code"]) == (410, "events_gone")
    assert there.send("PUT", beat, BEAT)[0] == 200
    there.create("after")
    (event,) = there.send("GET", f"events?after={gone['oldest_seq']}&type=project.created")[1]["items"]
    assert event["object_id"] == "after"
    assert event["seq"] > known + 1_000_000
    assert there.send("GET", "events?type=agent.unavailable&after=0")[1]["items"] == []
    print(f"events up to {kept} kept, {known - kept} lost and named by 410", flush=True)
    there.stop()


def last_number(region: Region) -> int:
    return int(region.send("GET", "events?after=0&limit=200")[1]["items"][-1]["seq"])


def position(url: str) -> str:
    with psycopg.connect(url) as session:
        row = session.execute("SELECT pg_current_wal_insert_lsn()::text").fetchone()
    assert row is not None
    return str(row[0])


def run_after_restore(environment: dict[str, str], url: str, known: int) -> None:
    """Run the command of the runbook on the Postgres of the other region."""
    command = [sys.executable, str(ROOT / "manage.py"), "after_restore", "--last-known-event", str(known)]
    everything = {**os.environ, **environment, "DATABASE_URL": url}
    done = subprocess.run(command, env=everything, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    print(done.stdout, flush=True)
