"""An installation whose Postgres is lost, and restored to a moment by the runbook."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings

from benchmarks.fleet import Beating, load
from controlplane.database import roles
from controlplane.local import Services
from controlplane.local.programs import free_port, stop_all
from tests.conftest import System
from tests.support.archived_postgres import ArchivedPostgres
from tests.support.failover_agents import Beats
from tests.support.failover_site import LIVENESS
from tests.support.paths import ROOT

_AGENTS = 100
INTERVAL_SECONDS = float(LIVENESS["HEARTBEAT_INTERVAL_SECONDS"])


class RestoredSite:
    """Web, worker and beat, and agents that go on beating whatever happens."""

    def __init__(self, services: Services, folder: Path) -> None:
        self.postgres, self._folder, self._port = ArchivedPostgres(folder), folder, free_port()
        self._environment = {
            **services.environment,
            **LIVENESS,
            "DATABASE_URL": self.postgres.url,
            "DJANGO_SETTINGS_MODULE": "controlplane.settings.test",
            "PYTHONPATH": str(ROOT),
            "SECRET_KEY": settings.SECRET_KEY,
            "CELERY_SKIP_CHECKS": "1",
            "THROTTLE_ANONYMOUS_PER_MINUTE": "0",
        }
        self.manage("migrate", "--verbosity", "0")
        self.manage("create_admin", "--data-dir", str(folder))
        self._token = (folder / "admin.token").read_text().strip()
        self.agents: Sequence[Beating] = load(self.postgres.url, _AGENTS, _AGENTS)
        with psycopg.connect(self.postgres.url) as session, session.cursor() as cursor:
            roles.establish(cursor, passwords={})
            cursor.execute("UPDATE registry_lease SET expires_at = now() + interval '90 s'")
        self.start()
        self.beats = Beats(self._port, self.agents, every=INTERVAL_SECONDS / 2, token=self._token, batch=20)
        self.beats.start()

    def start(self) -> None:
        self.system = System(self._environment, self._folder, self._port)
        self.system.wait_until_ready()

    def stop(self) -> None:
        """Stop the processes, and not the agents."""
        stop_all(self.system.running, patience=10)

    def close(self) -> None:
        self.beats.stopping.set()
        self.beats.join(30)
        self.stop()
        self.postgres.stop()

    def manage(self, *words: str) -> str:
        command = [sys.executable, str(ROOT / "manage.py"), *words]
        environment = {**os.environ, **self._environment, "DATABASE_STATEMENT_TIMEOUT_MS": "0"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def write(self, project: str) -> None:
        """Make a project, and an override there."""
        assert self.ask("POST", "scopes/projects", {"id": project, "name": project})[0] == 201
        body = {"attributes": {"limits": {"cpu": "2"}}}
        assert self.ask("PUT", f"overrides/task_resource?project={project}", body)[0] in (200, 201)

    def export(self) -> bytes:
        return self._send("GET", "overrides/export")[1]

    def last_number(self) -> int:
        _, newest = self.ask("GET", "events?limit=1")
        return int(newest["items"][0]["seq"])

    def a_second_between(self) -> datetime:
        """Return a whole second of Postgres' clock, after all that was written and before what will be."""
        with psycopg.connect(self.postgres.url, autocommit=True) as session:
            row = session.execute(
                "SELECT date_trunc('second', clock_timestamp()) + interval '1 s'"
            ).fetchone()
            assert row is not None
            moment: datetime = row[0]
            while session.execute("SELECT clock_timestamp()").fetchone()[0] < moment + timedelta(seconds=0.2):
                time.sleep(0.05)
        return moment

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        status, content = self._send(method, path, body)
        return status, json.loads(content or b"null")

    def _send(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        connection.request(method, f"/api/v1/{path}", None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content
