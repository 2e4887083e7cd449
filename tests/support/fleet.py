"""A fleet that beats, and web servers and sweepers of a test's own, on the test database."""

from __future__ import annotations

import http.client
import json
import random
import sys
import threading
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.db.models import F

from controlplane.events.models import Event
from controlplane.local.programs import Program, RunningProgram, free_port, start
from registry.agents.models import Agent, Lease, SweepRecord
from tests.support.api_client import AGENT, Api
from tests.support.waiting import until as until_true

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
        web = ("-m", "controlplane.serving", "--port", str(port))
        self._start(f"web-{port}", *web)
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


def until(what: Callable[[], object], seconds: float = 60) -> None:
    until_true(
        what,
        seconds,
        lambda: (events_told(), Counter(Agent.objects.values_list("state", flat=True))),
        pause=0.1,
    )


def ready(port: int) -> bool:
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=20).close()
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
