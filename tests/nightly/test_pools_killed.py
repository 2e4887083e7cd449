"""kill -9 of web, worker, beat, Valkey and Postgres in turn, while 64 clients lease 10 units.

A resource counts who really holds a unit: never more than the capacity. Afterwards no unit is lost.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.nightly.test_everything_killed import VICTIMS, Fleet, kill
from tests.support.launcher import Up
from tests.support.waiting import until

CAPACITY, CLIENTS, LEASE_SECONDS = 10, 64, 5
PAUSE_SECONDS = 6.0
POOL = "killed"


class Resource:
    """Counts who holds a unit at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self.most, self.uses = 0, 0

    def use(self, seconds: float) -> None:
        with self._lock:
            self._holders += 1
            self.uses += 1
            self.most = max(self.most, self._holders)
        time.sleep(seconds)
        with self._lock:
            self._holders -= 1


class Client(threading.Thread):
    """Leases a unit, uses it for far less than the lease, and releases it, come what may."""

    def __init__(self, fleet: Fleet, number: int, resource: Resource) -> None:
        super().__init__(daemon=True)
        self.fleet, self.number, self.resource = fleet, number, resource
        self.connection = http.client.HTTPConnection("127.0.0.1", fleet.up.port, timeout=10)
        self.stopping = threading.Event()
        self.failed, self.refused = 0, set[int]()
        self.epochs: list[int] = []

    def run(self) -> None:
        turn = 0
        while not self.stopping.is_set():
            try:
                if self._work(f"{self.number}-{turn}"):
                    turn += 1
            except (OSError, http.client.HTTPException):
                self.failed += 1
                self.connection.close()
                self.stopping.wait(0.1)

    def _work(self, token: str) -> bool:
        """Return whether the turn is over. What is not released expires."""
        status, lease = self._ask("POST", {"token": token, "queue": True})
        if status not in (200, 201):
            if status != http.HTTPStatus.ACCEPTED:
                self.refused.add(status)
            self.stopping.wait(0.3)
            return False
        self.epochs.append(lease["epoch"])
        self.resource.use(0.25)
        self._ask("DELETE", None, f"/{lease['id']}?epoch={lease['epoch']}")
        return True

    def _ask(self, method: str, body: Any, rest: str = "") -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self.fleet.token}", "Content-Type": "application/json"}
        sent = None if body is None else json.dumps(body)
        self.connection.request(method, f"/api/v1/pools/{POOL}/leases{rest}", sent, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    up = Up(tmp_path / "data", "--no-demo")
    up.wait_for("Ctrl-C stops everything")
    yield Fleet(up)
    up.stop()


def test_no_unit_is_held_twice_and_none_is_lost(fleet: Fleet) -> None:
    put(fleet, {"capacity": CAPACITY, "lease_seconds": LEASE_SECONDS})
    resource = Resource()
    clients = [Client(fleet, number, resource) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    until(lambda: resource.uses > 50, 60)
    for name in VICTIMS:
        before = resource.uses
        kill(fleet.up, name)
        time.sleep(PAUSE_SECONDS)
        until(lambda before=before: resource.uses > before + 50, 90)
    for client in clients:
        client.stopping.set()
    for client in clients:
        client.join(30)

    failed = sum(client.failed for client in clients)
    print(f"{resource.uses} uses, {failed} failed requests, at most {resource.most} of {CAPACITY} at once")
    assert resource.most == CAPACITY
    assert failed > 0
    assert set().union(*(client.refused for client in clients)) <= {502, 503}
    for client in clients:
        assert client.epochs == sorted(client.epochs)
    # What could not be released expires, after the grace for outages; then nothing is in use.
    until(lambda: fleet.ask(f"pools/{POOL}")["used"] == 0, 120)
    assert fleet.ask(f"pools/{POOL}/leases?state=granted")["items"] == []


def put(fleet: Fleet, body: dict[str, Any]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", fleet.up.port, timeout=20)
    headers = {"Authorization": f"Bearer {fleet.token}", "Content-Type": "application/json"}
    connection.request("PUT", f"/api/v1/pools/{POOL}", json.dumps(body), headers)
    assert connection.getresponse().status == http.HTTPStatus.CREATED
