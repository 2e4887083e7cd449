"""kill -9 of web, worker, beat, Valkey and Postgres in turn, while a fleet beats and others join.

FLEET=10000 plays a large one; a small one shows the same.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import signal
import threading
import time
import urllib.request
from collections import deque
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest

from benchmarks.fleet import Beating, load
from controlplane.local.data_folder import environment_file, read_environment
from tests.support.launcher import Up
from tests.support.waiting import until

FLEET = int(os.environ.get("FLEET", "200"))
CLIENTS = 8
# Each agent beats once in so long; a lease must outlast one round that a restart has held up.
EVERY_SECONDS = 0.5 + FLEET / 1000
LEASE_SECONDS = 15 + FLEET // 250
# Who joins meanwhile, does so here, and does not beat.
JOINING, JOINS = "storm", 100_000
LIVENESS = {
    "HEARTBEAT_INTERVAL_SECONDS": "5",
    "LEASE_SECONDS": str(LEASE_SECONDS),
    "SWEEP_INTERVAL_SECONDS": "1",
    # Each agent counts: the guard would hide a mistake.
    "FLEET_GUARD_PERCENT": "101",
}
BODY = b'{"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}'
PAUSE_SECONDS = 4.0
VICTIMS: dict[str, Callable[[str], bool]] = {
    "web": lambda words: "controlplane.serving" in words,
    "worker": lambda words: "celery" in words and " worker" in words,
    "beat": lambda words: "celery" in words and " beat" in words,
    "valkey": lambda words: "valkey-server" in words,
    "postgres": lambda words: "postgres" in words and " -D" in words,
}


class Client(threading.Thread):
    """Beats for its agents in turn, come what may, and keeps what each was told last."""

    def __init__(self, port: int, agents: list[Beating]) -> None:
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        # Who has waited for longest is first; when each is to beat.
        self.queue = deque((0.0, agent) for agent in agents)
        self.answers: dict[str, str] = {}
        self.answered, self.failed, self.refused = 0, 0, set[int]()
        # How much later than it should an agent could beat.
        self.longest = 0.0
        self.stopping = threading.Event()

    def run(self) -> None:
        while not self.stopping.is_set():
            at, beating = self.queue[0]
            self.stopping.wait(max(0.0, at - time.monotonic()))
            if self._try(beating):
                if at:
                    self.longest = max(self.longest, time.monotonic() - at)
                self.queue.rotate(-1)
                self.queue[-1] = (time.monotonic() + EVERY_SECONDS, beating)
                self.answered += 1
            else:
                time.sleep(0.05)

    def _try(self, beating: Beating) -> bool:
        try:
            return self._beat(beating)
        except (OSError, http.client.HTTPException):
            self.failed += 1
            self.connection.close()
            return False

    def _beat(self, beating: Beating) -> bool:
        headers = {"Authorization": f"Bearer {beating.token}", "Content-Type": "application/json"}
        self.connection.request("PUT", f"/api/v1/agents/{beating.agent}/heartbeat", BODY, headers)
        answer = self.connection.getresponse()
        document = json.loads(answer.read())
        if answer.status == 200:
            self.answers[str(beating.agent)] = document["last_heartbeat"]
        else:
            self.refused.add(answer.status)
        return answer.status == 200


class Joiner(threading.Thread):
    """Joins one agent after the other, come what may, and keeps the credentials that it was told."""

    def __init__(self, port: int, token: str, number: int) -> None:
        super().__init__(daemon=True)
        self.port, self.token, self.number = port, token, number
        self.answers: dict[str, str] = {}
        self.failed, self.refused = 0, set[int]()
        self.stopping = threading.Event()

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        for tries in itertools.count():
            if self.stopping.wait(0.05):
                return
            try:
                self._join(connection, f"j{self.number}-{tries}")
            except (OSError, http.client.HTTPException):
                self.failed += 1
                connection.close()

    def _join(self, connection: http.client.HTTPConnection, name: str) -> None:
        body = {"name": name, "topic_name": f"dcm.agent.{name}", "environment": JOINING}
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        dumps = json.dumps({**body, "service_types": ["vm"], "cost": "low"})
        connection.request("POST", "/api/v1/agents:join", dumps, headers)
        answer = connection.getresponse()
        document = json.loads(answer.read())
        if answer.status == 201:
            self.answers[document["agent"]["agent_id"]] = document["token"]
        else:
            self.refused.add(answer.status)


class Fleet:
    def __init__(self, up: Up) -> None:
        self.up = up
        self.token = (up.data_dir / "admin.token").read_text().strip()

    def ask(self, path: str, content: object = None) -> Any:
        body = None if content is None else json.dumps(content).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.up.url}/api/v1/{path}", body, headers)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.loads(answer.read())

    def load(self) -> list[Beating]:
        """All agents with a token each, at once: by the API it would take longer than their leases."""
        url = read_environment(environment_file(self.up.data_dir))["DATABASE_URL"]
        agents = load(url, FLEET, FLEET)
        with psycopg.connect(url) as connection:
            connection.execute(f"UPDATE registry_lease SET expires_at = now() + interval '{LEASE_SECONDS} s'")
        return agents

    def everybody(self) -> Iterator[dict[str, Any]]:
        path = "agents?limit=200&only=agent_id,environment,health_status,last_heartbeat"
        cursor = ""
        while cursor is not None:
            page = self.ask(path + (f"&cursor={cursor}" if cursor else ""))
            yield from page["items"]
            cursor = page["next_cursor"]


@pytest.fixture
def fleet(tmp_path):
    up = Up(tmp_path / "data", "--no-demo", **LIVENESS)
    up.wait_for("Ctrl-C stops everything")
    yield Fleet(up)
    up.stop(signal.SIGTERM)


def kill(up: Up, name: str) -> None:
    """The oldest process of that kind is the one that the others belong to."""
    os.kill(min(pid for pid, words in up.children().items() if VICTIMS[name](words)), signal.SIGKILL)


def a_round_of_all(clients: list[Client], seconds: float = 60 + FLEET / 20) -> None:
    """Wait until everybody has been beaten for twice since now."""
    targets = [client.answered + 2 * len(client.queue) for client in clients]
    until(
        lambda: all(client.answered >= enough for client, enough in zip(clients, targets, strict=True)),
        seconds,
    )


def test_nothing_that_was_acknowledged_is_lost_and_nobody_is_wrongly_unavailable(fleet):
    loaded = fleet.load()
    agents = [str(beating.agent) for beating in loaded]
    clients = [Client(fleet.up.port, loaded[start::CLIENTS]) for start in range(CLIENTS)]
    body = {"name": "storm", "name_pattern": "j*", "uses": JOINS, "expires_in_seconds": 3600}
    invitation = fleet.ask("join-tokens", body)["token"]
    joiners = [Joiner(fleet.up.port, invitation, number) for number in range(4)]
    for client in (*clients, *joiners):
        client.start()
    a_round_of_all(clients)

    for name in VICTIMS:
        kill(fleet.up, name)
        time.sleep(PAUSE_SECONDS)
        a_round_of_all(clients)
    for client in (*clients, *joiners):
        client.stopping.set()
        client.join(30)

    agents_found = {
        entry["agent_id"]: entry for entry in fleet.everybody() if entry["environment"] != JOINING
    }
    acknowledged = {agent: at for client in clients for agent, at in client.answers.items()}
    assert set(agents_found) == set(acknowledged) == set(agents)
    lost = [a for a in agents if _time(agents_found[a]["last_heartbeat"]) < _time(acknowledged[a])]
    assert lost == []
    assert {entry["health_status"] for entry in agents_found.values()} == {"ready"}
    silent = fleet.ask("events?after=0&type=agent.unavailable&limit=200")["items"]
    assert [event for event in silent if event["data"]["environment"] != JOINING] == []
    # It was real: requests did fail, and none was refused but for want of the database.
    total, failed = sum(client.answered for client in clients), sum(client.failed for client in clients)
    longest = max(client.longest for client in clients)
    print(f"{FLEET} agents: {total} heartbeats taken, {failed} failed, none later than {longest:.1f} s")
    assert failed > 0
    assert set().union(*(client.refused for client in (*clients, *joiners))) <= {502, 503}
    _every_join_holds(fleet, joiners)


def _every_join_holds(fleet: Fleet, joiners: list[Joiner]) -> None:
    """Every returned credential works, and each agent has used the join token once."""
    tokens = {agent: token for joiner in joiners for agent, token in joiner.answers.items()}
    joined = {entry["agent_id"] for entry in fleet.everybody() if entry["environment"] == JOINING}
    assert len(tokens) > 100
    assert sum(joiner.failed for joiner in joiners) > 0
    assert set(tokens) <= joined
    assert fleet.ask("join-tokens")["items"][0]["uses_left"] == JOINS - len(joined)
    client = Client(fleet.up.port, [])
    for agent, token in tokens.items():
        assert client._beat(Beating(UUID(agent), token))


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
