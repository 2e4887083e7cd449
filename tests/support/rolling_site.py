"""An installation of two web servers, worker, beat and relay, replaced one by one under load."""

from __future__ import annotations

import json
import time
import urllib.request
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings

from benchmarks.fleet import Beating, load
from controlplane.database import roles
from controlplane.local import Services
from controlplane.local.programs import Program, RunningProgram, free_port, start, stop_all
from tests.conftest import as_application
from tests.support.failover_agents import Beats
from tests.support.failover_site import LIVENESS, WRITERS, Reader
from tests.support.failover_writes import FOUND, OVERRIDE, RESOURCE, TEAM, Verdict, Writer, judge, longest_gap
from tests.support.haproxy import HAProxy
from tests.support.list_reader import ListReader
from tests.support.lock_waits import LockWaits
from tests.support.releases import Release
from tests.support.waiting import is_reachable, until

_AGENTS, _ALONE = 200, 50
_STOP_SECONDS = 30


class RollingSite:
    """environment: of every process. ports: of the two web servers."""

    def __init__(self, services: Services, folder: Path, release: Release) -> None:
        self.folder = folder
        self.environment = environment_for(services, f"upgrade_{free_port()}")
        self.ports = {"web-1": free_port(), "web-2": free_port()}
        self._threads: list[Writer | Reader | Beats | ListReader | LockWaits] = []
        self._set_up(release)
        self.front = HAProxy(folder, tuple(self.ports.values()))
        self.running: dict[str, RunningProgram] = {}
        for process in (*self.ports, "worker", "beat", "relay"):
            self._start(process, release)
        self._wait_until_ready()

    def replace(self, process: str, release: Release) -> None:
        """Stop one process in good order, and start its successor."""
        stop_all([self.running[process]], patience=_STOP_SECONDS)
        self._start(process, release)
        self._wait_until_ready()

    def start_load(self) -> None:
        port, token = self.front.port, self._token
        self.writers = [Writer(port, token, kind, number) for number, kind in enumerate((*WRITERS, RESOURCE))]
        self._prepare_writers()
        seen = [writer for writer in self.writers if writer.kind in (TEAM, OVERRIDE)]
        self.readers = [Reader(port, token, seen)]
        alone, many = self._agents[:_ALONE], self._agents[_ALONE:]
        self.beats = [Beats(port, alone, every=2.5), Beats(port, many, every=2.5, token=token, batch=50)]
        self.lists, self.lock_waits = ListReader(port, token), LockWaits(self.environment["DATABASE_URL"])
        self._threads = [*self.writers, *self.readers, *self.beats, self.lists, self.lock_waits]
        self._began = time.monotonic()
        for thread in self._threads:
            thread.start()
        until(lambda: all(writer.acknowledged_at for writer in self.writers), 60, self.answers)

    def settle(self) -> dict[str, Verdict]:
        """End the load, and compare all answers with the database."""
        for thread in self._threads:
            thread.stopping.set()
        for thread in self._threads:
            thread.join(60)
        verdicts = {}
        with psycopg.connect(self.environment["DATABASE_URL"], autocommit=True) as session:
            for kind, statement in FOUND.items():
                changes = [change for one in self.writers if one.kind is kind for change in one.changes]
                verdicts[kind.name] = judge(changes, dict(session.execute(statement).fetchall()))
        return verdicts

    def answers(self) -> Counter[tuple[int, str]]:
        """Return how often each answer was given, to everybody."""
        answers: Counter[tuple[int, str]] = Counter()
        for writer in self.writers:
            answers += writer.answers
        for other in (*self.readers, *self.beats, self.lists):
            statuses = other.answers if isinstance(other, Reader) else other.statuses
            answers += Counter({(status, ""): number for status, number in statuses.items()})
        return answers

    def longest_gap(self) -> float:
        """Return the longest time without an acknowledged write, in seconds."""
        written = [at for writer in self.writers for at in writer.acknowledged_at]
        return longest_gap(written, self._began, max(written))

    def front_log(self) -> str:
        """Return when HAProxy took a web server for dead or alive, and why."""
        return (self.folder / "haproxy.log").read_text()

    def unavailable(self) -> list[str]:
        statement = "SELECT object_id FROM events_event WHERE type = 'agent.unavailable'"
        with psycopg.connect(self.environment["DATABASE_URL"]) as session:
            return [str(row[0]) for row in session.execute(statement)]

    def meta(self) -> dict[str, Any]:
        """Return what the first web server knows of all processes."""
        return self._ask("GET", "meta", port=self.ports["web-1"])

    def stop(self) -> None:
        for thread in self._threads:
            thread.stopping.set()
        stop_all(self.running.values(), patience=5)
        self.front.stop()

    def _start(self, process: str, release: Release) -> None:
        kind = "web" if process in self.ports else process
        command = release.command(process, self.folder, self.ports.get(process, 0))
        environment = as_application(self.environment, kind) | {"PYTHONPATH": str(release.folder)}
        log = self.folder / f"{process}.log"
        self.running[process] = start(Program(process, command, log, environment, directory=release.folder))

    def _wait_until_ready(self) -> None:
        """Both web servers are ready, and HAProxy has seen it."""
        urls = [f"http://127.0.0.1:{port}/readyz" for port in self.ports.values()]
        until(lambda: all(map(is_reachable, urls)), 90, self.logs)
        time.sleep(1.5)

    def logs(self) -> str:
        return "\n".join(path.read_text()[-3000:] for path in sorted(self.folder.glob("*.log")))

    def _set_up(self, release: Release) -> None:
        database = self.environment["DATABASE_URL"]
        name = database.rpartition("/")[2].partition("?")[0]
        with psycopg.connect(database.replace(f"/{name}", "/postgres"), autocommit=True) as administrator:
            administrator.execute(f"CREATE DATABASE {name}")
        _succeed(release.manage(self.environment, "migrate", "--verbosity", "0"))
        _succeed(release.manage(self.environment, "create_admin", "--data-dir", str(self.folder)))
        self._token = (self.folder / "admin.token").read_text().strip()
        self._agents: Sequence[Beating] = load(database, _AGENTS, _AGENTS)
        with psycopg.connect(database) as session, session.cursor() as cursor:
            roles.establish(cursor, passwords={})
            cursor.execute("UPDATE registry_lease SET expires_at = now() + interval '90 s'")

    def _prepare_writers(self) -> None:
        self._ask("PUT", "pools/failover", {"capacity": 1_000_000})
        for writer in self.writers:
            if writer.kind is OVERRIDE:
                project = f"{OVERRIDE.name}-{writer.number}"
                self._ask("POST", "scopes/projects", {"id": project, "name": project})

    def _ask(self, method: str, path: str, body: object = None, *, port: int = 0) -> dict[str, Any]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{port or self.front.port}/api/v1/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            document: dict[str, Any] = json.load(answer)
        return document


def environment_for(services: Services, database: str) -> dict[str, str]:
    return {
        **services.environment,
        **LIVENESS,
        "DATABASE_URL": services.environment["DATABASE_URL"].replace("@/controlplane?", f"@/{database}?"),
        "DJANGO_SETTINGS_MODULE": "controlplane.settings.test",
        "SECRET_KEY": settings.SECRET_KEY,
        "CELERY_SKIP_CHECKS": "1",
        "THROTTLE_ANONYMOUS_PER_MINUTE": "0",
        "THROTTLE_CALLER_PER_MINUTE": "0",
        "LOG_LEVEL": "INFO",
        # As docs/operations.md recommends; earlier releases do not know it.
        "LEAVE_SECONDS": "2",
    }


def _succeed(process: Any) -> None:
    assert process.returncode == 0, process.stderr
