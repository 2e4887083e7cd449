"""Promises to a fleet, on real processes with short leases: wild clocks, mass silence, our own outage."""

from __future__ import annotations

import http.client
import json
import random
import signal
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.db.models import F
from django.db.models.functions import Now

from controlplane.events.models import Event
from controlplane.local.programs import Program, RunningProgram, free_port, start, stop_all
from registry.agents.models import Agent, Lease, SweepRecord
from registry.environments.models import Environment
from tests.conftest import QUICK_LIVENESS
from tests.support.api_client import AGENT, Api, token_for
from tests.support.waiting import until as until_true

LEASE = timedelta(seconds=int(QUICK_LIVENESS["LEASE_SECONDS"]))
# What their clocks say, in hours beside ours.
CLOCKS: tuple[Callable[[], float], ...] = (
    lambda: -2.0,
    lambda: 2.0,
    lambda: random.uniform(-1e5, 1e5),
    lambda: 0.0,
)


class Plane:
    """Web servers, workers and beats of our own on the test database."""

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        self.environment, self.folder = environment, folder
        self.running: list[RunningProgram] = []

    def serve(self) -> int:
        """Start a web server; return its port at once."""
        return self.serve_at(free_port())

    def serve_at(self, port: int) -> int:
        web = ("-m", "granian", "--interface", "asgi", "--no-ws", "--workers", "1", "--port", str(port))
        self._start(f"web-{port}", *web, "controlplane.asgi:application")
        return port

    def sweep(self, name: str) -> None:
        """Start a worker, and a beat that sends it to sweep."""
        celery = ("-m", "celery", "-A", "controlplane")
        worker = ("worker", "-n", name, "--without-gossip", "--without-mingle", "--pool", "solo")
        self._start(f"worker-{name}", *celery, *worker, "-l", "WARNING")
        schedule = ("--schedule", str(self.folder / f"schedule-{name}"), "--pidfile", "")
        self._start(f"beat-{name}", *celery, "beat", *schedule, "-l", "WARNING")

    def _start(self, name: str, *words: str) -> None:
        command = (sys.executable, *words)
        self.running.append(start(Program(name, command, self.folder / f"{name}.log", self.environment)))

    def kill(self) -> None:
        for program in self.running:
            program.kill()
        self.running.clear()


@pytest.fixture
def plane(system, transactional_db, tmp_path):
    """The shared system rests: its beat is stopped, so nobody but ours sweeps."""
    system.beat.send_signal(signal.SIGSTOP)
    running = Plane(system.environment, tmp_path)
    yield running
    stop_all(running.running, patience=5)


class Fleet(threading.Thread):
    """Beats for its agents by one web server, several times an interval, but for those that are silent.

    pause: in seconds, between the heartbeats of an agent.
    """

    def __init__(
        self, port: int, token: str, agents: list[str], silent: set[str], *, pause: float = 0.3
    ) -> None:
        super().__init__(daemon=True)
        self.pause = pause
        self.port, self.token, self.agents, self.silent = port, token, agents, silent
        self.answers: Counter[int] = Counter()
        self.stopping = threading.Event()

    def run(self) -> None:
        while not self.stopping.wait(self.pause):
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
            for number, agent in enumerate(self.agents):
                if agent not in self.silent:
                    self.answers[self._beat(connection, agent, CLOCKS[number % len(CLOCKS)]())] += 1
            connection.close()

    def _beat(self, connection: http.client.HTTPConnection, agent: str, hours: float) -> int:
        at = datetime.now(UTC) + timedelta(hours=hours)
        body = json.dumps({"timestamp": at.isoformat(), "consumer_lag": 0})
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        try:
            connection.request("PUT", f"/api/v1/agents/{agent}/heartbeat", body, headers)
            answer = connection.getresponse()
            answer.read()
            return answer.status
        except (OSError, http.client.HTTPException):
            connection.close()
            return 0


def register(token: str, count: int) -> list[str]:
    """In this process: of leases as long as its settings say, until the first heartbeat."""
    api = Api(token)
    bodies = [{**AGENT, "name": f"f{n}", "topic_name": f"dcm.agent.f{n}"} for n in range(count)]
    return [api.post("agents", body).json()["agent_id"] for body in bodies]


def until(what: Callable[[], object], seconds: float = 30) -> None:
    until_true(
        what,
        seconds,
        lambda: (events_told(), Counter(Agent.objects.values_list("state", flat=True))),
        pause=0.1,
    )


def ready(port: int) -> bool:
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2).close()
    except OSError:
        return False
    return True


def events_told() -> Counter[tuple[str, str]]:
    """Every change of state that was announced, by its kind and its agent."""
    moved = Event.objects.filter(object_type="agent").exclude(type="agent.registered")
    return Counter(moved.values_list("type", "object_id"))


def each_once(event_type: str, agents: Iterable[str]) -> Counter[tuple[str, str]]:
    return Counter((event_type, agent) for agent in agents)


def in_state(state: str, agents: Iterable[str]) -> bool:
    return not Agent.objects.filter(id__in=list(agents)).exclude(state=state).exists()


def swept_for(seconds: float) -> bool:
    """Sweeps have run for so long without a gap."""
    since = timedelta(seconds=seconds)
    return SweepRecord.objects.filter(last_sweep_at__gte=F("reachable_since") + since).exists()


def death_after(agent: str) -> timedelta:
    """From the last heartbeat to the event."""
    event = Event.objects.get(type="agent.unavailable", object_id=agent)
    return event.at - Lease.objects.get(agent_id=agent).renewed_at


def test_three_servers_and_two_sweepers_tell_the_dead_from_a_broken_network(plane):
    """R1, R3, R17; P6 to P8; F4, F19, F21."""
    token = token_for("agent")
    ports = [plane.serve() for _ in range(3)]
    plane.sweep("one")
    plane.sweep("two")
    for port in ports:
        until(lambda port=port: ready(port))
    agents, silent = register(token, 60), set[str]()
    fleet = [Fleet(port, token, agents[place::3], silent) for place, port in enumerate(ports)]
    for heartbeat_sender in fleet:
        heartbeat_sender.start()

    # Two leases and the grace later nobody was marked, whatever their clocks say.
    until(lambda: swept_for(3 * LEASE.total_seconds()))
    assert events_told() == Counter()

    # One of each clock dies: found in time, and no sooner.
    dead = [*fleet[0].agents[:4]]
    silent.update(dead)
    until(lambda: in_state("unavailable", dead))
    assert all(LEASE < death_after(agent) <= LEASE + timedelta(seconds=15) for agent in dead)
    assert events_told() == each_once("agent.unavailable", dead)
    assert not Environment.objects.exclude(guard_engaged_at=None).exists()

    # Sixty per cent fall silent at once: doubted, and none of them marked.
    cut_off = [agent for agent in agents if agent not in dead][:36]
    silent.update(cut_off)
    until(lambda: in_state("unknown", cut_off))
    time.sleep(LEASE.total_seconds())
    expected = each_once("agent.unavailable", dead) + each_once("agent.unknown", cut_off)
    assert events_told() == expected
    guards = Event.objects.filter(object_type="fleet_guard")
    assert sorted(guards.values_list("type", "object_id")) == [
        ("fleet_guard.engaged", "*"),
        ("fleet_guard.engaged", "prod"),
    ]

    # The network is back, and the dead with it.
    silent.clear()
    until(lambda: in_state("ready", agents))
    until(lambda: not Environment.objects.exclude(guard_engaged_at=None).exists())
    for heartbeat_sender in fleet:
        heartbeat_sender.stopping.set()
        heartbeat_sender.join(15)
    assert events_told() == expected + each_once("agent.ready", [*dead, *cut_off])
    assert guards.filter(type="fleet_guard.lifted").count() == 2
    assert {status for agent in fleet for status in agent.answers} == {200}


def test_after_ten_leases_without_a_control_plane_nobody_is_unavailable(plane):
    """R3; P6; F20."""
    token = token_for("agent")
    port = plane.serve()
    plane.sweep("one")
    until(lambda: ready(port))
    agents, silent = register(token, 20), set[str]()
    fleet = Fleet(port, token, agents, silent)
    fleet.start()
    until(lambda: swept_for(LEASE.total_seconds()) and fleet.answers[200] > 2 * len(agents))
    plane.kill()
    silent.update(agents)
    # Only the database remembers, so for all that is left the time passes like this.
    away = 10 * LEASE
    SweepRecord.objects.update(
        last_sweep_at=F("last_sweep_at") - away, reachable_since=F("reachable_since") - timedelta(days=1)
    )
    Lease.objects.update(renewed_at=F("renewed_at") - away, expires_at=F("expires_at") - away)
    assert events_told() == Counter()

    fleet.port = plane.serve()
    until(lambda: ready(fleet.port))
    plane.sweep("one")
    # The worst case: sweeps run before the first heartbeat comes.
    until(lambda: SweepRecord.objects.filter(last_sweep_at__gt=Now() - LEASE).exists())
    assert Lease.objects.filter(expires_at__lt=Now()).count() == len(agents)
    silent.clear()
    time.sleep(3 * LEASE.total_seconds())
    fleet.stopping.set()
    fleet.join(15)

    assert events_told() == Counter()
    assert in_state("ready", agents)
    assert not Event.objects.filter(object_type="fleet_guard").exists()


def test_while_the_web_servers_are_away_longer_than_a_lease_nobody_becomes_unavailable(plane):
    """R3; P6: database, worker and beat go on, so the sweep sees nothing but silent agents."""
    token = token_for("agent")
    port = plane.serve()
    plane.sweep("one")
    until(lambda: ready(port))
    agents, silent = register(token, 3), set[str]()
    fleet = Fleet(port, token, agents, silent)
    fleet.start()
    until(lambda: swept_for(LEASE.total_seconds() + 1) and fleet.answers[200] > 2 * len(agents))
    web = plane.running[0]

    web.kill()
    until(lambda: in_state("unknown", agents))  # the sweep does run
    silent.update(agents)
    fleet.port = plane.serve()
    until(lambda: ready(fleet.port))
    silent.clear()
    until(lambda: in_state("ready", agents))
    until(lambda: not Environment.objects.exclude(guard_engaged_at=None).exists())
    fleet.stopping.set()
    fleet.join(15)

    assert {kind for kind, _ in events_told()} == {"agent.unknown", "agent.ready"}
