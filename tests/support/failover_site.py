"""A whole installation on Postgres with Patroni, under load: what a failover does to it, in figures."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from operator import ge
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings

from benchmarks.fleet import Beating, load
from controlplane.database import roles
from controlplane.local import Services
from controlplane.local.programs import stop_all
from tests.conftest import System
from tests.support.failover_agents import Beats
from tests.support.failover_writes import (
    FOUND,
    LEASE,
    OVERRIDE,
    TEAM,
    Kind,
    Verdict,
    Writer,
    judge,
    longest_gap,
)
from tests.support.paths import ROOT
from tests.support.patroni import PatroniCluster, create_database
from tests.support.waiting import until

# AGENTS=10000 is a fleet whose client leaves two cores enough for the rest.
AGENTS, ALONE = int(os.environ.get("AGENTS", "400")), 200
WRITERS: tuple[Kind, ...] = (TEAM, TEAM, LEASE, LEASE, OVERRIDE, OVERRIDE)
# Shorter than a failover takes: only the grace after an outage keeps the agents.
LIVENESS = {
    "HEARTBEAT_INTERVAL_SECONDS": "5",
    "LEASE_SECONDS": "15",
    "SWEEP_INTERVAL_SECONDS": "1",
    # Each agent counts: the guard would hide a mistake.
    "FLEET_GUARD_PERCENT": "101",
}


@dataclass(slots=True)
class Figures:
    """What a run has shown. gaps: seconds without an acknowledged write, of each fault."""

    gaps: dict[str, list[float]] = field(default_factory=dict)
    beat_gaps: dict[str, list[float]] = field(default_factory=dict)
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    wrong: list[Any] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    lost_beats: list[str] = field(default_factory=list)
    unavailable: list[str] = field(default_factory=list)
    answers: Counter[tuple[int, str]] = field(default_factory=Counter)
    beats: int = 0

    def __str__(self) -> str:
        verdicts = self.verdicts.values()
        return (
            f"acknowledged {sum(verdict.acknowledged for verdict in verdicts)}"
            f", unknown {sum(verdict.unknown for verdict in verdicts)}"
            f", lost {sum(len(verdict.lost) for verdict in verdicts)}"
            f", twice {sum(len(verdict.twice) for verdict in verdicts)}"
            f", untrue {sum(len(verdict.untrue) for verdict in verdicts) + len(self.wrong)}"
            f", stale reads {len(self.stale)}, heartbeats {self.beats}"
            f", lost heartbeats {len(self.lost_beats)}"
            f", wrongly unavailable {len(self.unavailable)}\n"
            f"gaps of writes {self.gaps}\ngaps of heartbeats {self.beat_gaps}\nanswers {dict(self.answers)}"
        )

    def verify(self) -> None:
        """Print the figures; nothing may be lost, done twice, or answered wrongly."""
        print(f"\n{self}", flush=True)
        for kind, verdict in self.verdicts.items():
            assert (verdict.lost, verdict.twice, verdict.untrue) == ([], [], []), kind
        assert self.wrong == []
        assert self.stale == []
        assert self.lost_beats == []
        assert self.unavailable == []


class Reader(threading.Thread):
    """Reads what was just acknowledged, and keeps what an answer did not show yet."""

    def __init__(self, port: int, token: str, writers: Sequence[Writer]) -> None:
        super().__init__(daemon=True)
        self.stale: list[str] = []
        self.answers: Counter[int] = Counter()
        self.stopping = threading.Event()
        self._writers = writers
        self._headers = {"Authorization": f"Bearer {token}"}
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)

    def run(self) -> None:
        while not self.stopping.wait(0.02):
            for writer in self._writers:
                if name := writer.last_done:
                    self._read(writer.kind, name)

    def _read(self, kind: Kind, name: str) -> None:
        project, _, number = name.rpartition("-")
        path = {TEAM: f"teams/{name}", OVERRIDE: f"overrides/effective?project={project}&domain=development"}
        try:
            self._connection.request("GET", f"/api/v1/{path[kind]}", headers=self._headers)
            answer = self._connection.getresponse()
            document = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError):
            self._connection.close()
            self.answers[0] += 1
            return
        self.answers[answer.status] += 1
        if answer.status == 404 or (
            answer.status == 200 and kind is OVERRIDE and _cpu(document) < int(number)
        ):
            self.stale.append(name)


def _cpu(document: Any) -> int:
    tasks = next(item for item in document["items"] if item["resource_type"] == "task_resource")
    return int(tasks["attributes"]["defaults"]["cpu"])


class FailoverSite:
    """Web, worker and beat on a cluster, with writers, readers and agents that never rest."""

    def __init__(self, services: Services, folder: Path, cluster: PatroniCluster) -> None:
        self.cluster, self._folder = cluster, folder
        self._began = time.monotonic()
        self._environment = {
            **services.environment,
            **LIVENESS,
            "DATABASE_URL": cluster.url,
            "DJANGO_SETTINGS_MODULE": "controlplane.settings.test",
            "PYTHONPATH": str(ROOT),
            "SECRET_KEY": settings.SECRET_KEY,
            "CELERY_SKIP_CHECKS": "1",
            "THROTTLE_ANONYMOUS_PER_MINUTE": "0",
            "THROTTLE_CALLER_PER_MINUTE": "0",
            "LOG_LEVEL": "INFO",
        }
        self.figures = Figures()
        self._step("cluster")
        self._agents = self._set_up()
        self._step("database")
        self.system = System(self._environment, folder)
        self._threads: list[Writer | Reader | Beats] = []

    def start_load(self) -> None:
        """Wait for the processes, and start to write, read and beat."""
        self.system.wait_until_ready()
        port, token = self.system.port, self._token
        self.writers = [Writer(port, token, kind, number) for number, kind in enumerate(WRITERS)]
        seen = [writer for writer in self.writers if writer.kind in (TEAM, OVERRIDE)]
        self.readers = [Reader(port, token, seen)]
        self._prepare_writers()
        alone, many = self._agents[:ALONE], self._agents[ALONE:]
        self.beats = [Beats(port, alone[place::4], every=2.5) for place in range(4)]
        # One client cannot beat for more within their lease.
        clients = max(1, AGENTS // 1_500)
        self.beats += [
            Beats(port, many[place::clients], every=max(2.5, AGENTS / 2_000), token=token, batch=100)
            for place in range(clients)
        ]
        self._threads = [*self.writers, *self.readers, *self.beats]
        for thread in self._threads:
            thread.start()
        until(lambda: all(writer.acknowledged_at for writer in self.writers), 60, self._told)
        self._step("processes")

    def fail(self, name: str, fault: Callable[[], object], *, heals: float = 60) -> float:
        """Have something fail; return the seconds without an acknowledged write, once writes go on.

        heals: seconds within which each writer must be acknowledged again.
        """
        began = time.monotonic()
        fault()
        ended = time.monotonic()
        until(lambda: all(_last(writer) > ended + 1 for writer in self.writers), heals, self._told, pause=0.1)
        until(lambda: all(_last(beats) > ended + 1 for beats in self.beats), heals, self._told, pause=0.1)
        now = time.monotonic()
        written = [at for writer in self.writers for at in list(writer.acknowledged_at)]
        beaten = [at for beats in self.beats for at in list(beats.accepted_at)]
        gap = longest_gap(written, began, now)
        self.figures.gaps.setdefault(name, []).append(round(gap, 1))
        self.figures.beat_gaps.setdefault(name, []).append(round(longest_gap(beaten, began, now), 1))
        print(f"{name}: gap {gap:.1f} s", flush=True)
        return gap

    def settle(self) -> Figures:
        """End the load once all agents have beaten twice more, and compare the answers with the database."""
        ends = [beats.rounds + 3 for beats in self.beats]
        until(lambda: all(map(ge, [beats.rounds for beats in self.beats], ends)), 120, self._told)
        for thread in self._threads:
            thread.stopping.set()
        for thread in self._threads:
            thread.join(60)
        figures = self.figures
        figures.wrong = [wrong for writer in self.writers for wrong in writer.wrong]
        figures.stale = [name for reader in self.readers for name in reader.stale]
        for writer in self.writers:
            figures.answers += writer.answers
        figures.beats = sum(beats.statuses[200] for beats in self.beats)
        with psycopg.connect(self.cluster.url, autocommit=True) as session:
            for kind, statement in FOUND.items():
                changes = [change for one in self.writers if one.kind is kind for change in one.changes]
                figures.verdicts[kind.name] = judge(changes, dict(session.execute(statement).fetchall()))
            self._judge_agents(session)
        return figures

    def stop(self) -> None:
        for thread in self._threads:
            thread.stopping.set()
        stop_all(self.system.running, patience=5)

    def acknowledged(self) -> int:
        """Return how many changes were acknowledged so far."""
        return sum(len(writer.acknowledged_at) for writer in self.writers)

    def read(self) -> int:
        """Return how many reads were answered so far."""
        return sum(reader.answers[200] for reader in self.readers)

    def readiness(self) -> dict[str, str]:
        """Return the checks of the web server."""
        with urllib.request.urlopen(f"{self.system.url}/readyz?verbose", timeout=20) as answer:
            checks: dict[str, str] = json.load(answer)["checks"]
            return checks

    def log(self, name: str) -> str:
        """Return what a process has logged."""
        return (self._folder / f"{name}.log").read_text()

    def _set_up(self) -> list[Beating]:
        create_database(self.cluster)
        self._manage("migrate", "--verbosity", "0")
        self._manage("create_admin", "--data-dir", str(self._folder))
        self._token = (self._folder / "admin.token").read_text().strip()
        agents = load(self.cluster.url, AGENTS, AGENTS)
        with psycopg.connect(self.cluster.url) as session, session.cursor() as cursor:
            roles.establish(cursor, passwords={})
            cursor.execute("UPDATE registry_lease SET expires_at = now() + interval '90 s'")
        return agents

    def _step(self, name: str) -> None:
        print(f"{name}: ready after {time.monotonic() - self._began:.0f} s", flush=True)

    def _manage(self, *words: str) -> None:
        # To wait for a standby after each of a thousand statements would take a minute.
        url = f"{self.cluster.url}&options=-c%20synchronous_commit%3Doff"
        environment = {**self._environment, "DATABASE_URL": url, "DATABASE_STATEMENT_TIMEOUT_MS": "0"}
        command = [sys.executable, str(ROOT / "manage.py"), *words]
        everything = {**os.environ, **environment}
        subprocess.run(command, env=everything, check=True, capture_output=True, text=True)

    def _prepare_writers(self) -> None:
        self._ask("PUT", "pools/failover", {"capacity": 1_000_000})
        for writer in self.writers:
            if writer.kind is OVERRIDE:
                project = f"{OVERRIDE.name}-{writer.number}"
                self._ask("POST", "scopes/projects", {"id": project, "name": project})

    def _ask(self, method: str, path: str, body: dict[str, Any]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.system.port, timeout=20)
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        connection.request(method, f"/api/v1/{path}", json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        assert answer.status in (200, 201), text

    def _judge_agents(self, session: psycopg.Connection[Any]) -> None:
        rows = session.execute("SELECT agent_id::text, renewed_at FROM registry_lease").fetchall()
        renewed_at = dict(rows)
        told = {agent: at for beats in self.beats for agent, at in beats.answers.items()}
        assert set(told) == {str(one.agent) for one in self._agents}
        self.figures.lost_beats = [
            agent for agent, at in told.items() if renewed_at[agent] < datetime.fromisoformat(at)
        ]
        unavailable = "SELECT object_id FROM events_event WHERE type = 'agent.unavailable'"
        self.figures.unavailable = [str(row[0]) for row in session.execute(unavailable)]

    def _told(self) -> str:
        answers = [dict(writer.answers) for writer in self.writers]
        statuses = [dict(beats.statuses) for beats in self.beats]
        with suppress(OSError):
            return f"{answers}\n{statuses}\n{self.cluster.members()}\n{self.log('web')[-6000:]}"
        return f"{answers}\n{statuses}"


def _last(thread: Writer | Beats) -> float:
    times = thread.acknowledged_at if isinstance(thread, Writer) else thread.accepted_at
    return times[-1] if times else float("-inf")
