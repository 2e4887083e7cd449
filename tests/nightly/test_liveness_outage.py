"""Outages of the web servers at their real length, with the default interval, lease and sweep.

Database, worker and beat go on all the time. Nobody may become unavailable, and everybody is back in time.
"""

from __future__ import annotations

import signal
import time
from collections import Counter

import pytest

from controlplane.events.models import Event
from controlplane.local.programs import stop_all
from registry.agents.models import Agent
from registry.environments.models import Environment
from tests.e2e.test_reference_agent import Process
from tests.support.api_client import Api, token_for
from tests.support.fleet import (
    Fleet,
    Plane,
    events_told,
    in_state,
    ready,
    register,
    swept_for,
    until,
)

INTERVAL, LEASE, GRACE = 30, 90, 90
OUTAGE = 135
DEFAULTS = {
    "HEARTBEAT_INTERVAL_SECONDS": str(INTERVAL),
    "LEASE_SECONDS": str(LEASE),
    "SWEEP_INTERVAL_SECONDS": "5",
}
REFERENCE_AGENTS = 3


@pytest.fixture
def plane(system, transactional_db, tmp_path):
    """The shared system rests: its beat is stopped, so nobody but ours sweeps."""
    system.beat.send_signal(signal.SIGSTOP)
    running = Plane({**system.environment, **DEFAULTS}, tmp_path)
    yield running
    stop_all(running.running, patience=5)
    system.beat.send_signal(signal.SIGCONT)


@pytest.fixture
def processes(tmp_path):
    """Reference agents, started by the test."""
    running: list[Process] = []
    yield running
    for program in running:
        program.end()


def start_reference_agents(processes, port: int, tmp_path) -> None:
    for number in range(REFERENCE_AGENTS):
        folder = tmp_path / f"agent-{number}"
        folder.mkdir()
        process = Process(f"http://127.0.0.1:{port}", folder, token_for("agent"))
        process.environment |= {"AGENT_NAME": f"reference-{number}"}
        process.list_providers()
        process.start()
        processes.append(process)
    until(lambda: Agent.objects.filter(name__startswith="reference").count() == REFERENCE_AGENTS)


@pytest.mark.parametrize("count", [1, 4, 60])
def test_web_servers_away_for_longer_than_a_lease(plane, processes, tmp_path, count):
    token = token_for("agent")
    port = plane.serve()
    plane.sweep("one")
    until(lambda: ready(port))
    agents = register(token, count)
    start_reference_agents(processes, port, tmp_path)
    fleet = Fleet(port, token, agents, set(), pause=15)
    fleet.start()
    until(lambda: swept_for(GRACE + 10), 2 * GRACE)

    web = plane.running.pop(0)
    web.kill()
    time.sleep(OUTAGE)
    assert not Agent.objects.filter(state="unavailable").exists()
    again = plane.serve_at(port)
    until(lambda: ready(again))
    healed = time.monotonic()
    until(lambda: in_state("ready", Agent.objects.values_list("id", flat=True)), INTERVAL + 10)
    print(f"all {count + REFERENCE_AGENTS} ready {time.monotonic() - healed:.1f} s after the web server")
    until(lambda: not Environment.objects.exclude(guard_engaged_at=None).exists(), GRACE + 30)
    time.sleep(30)
    fleet.stopping.set()

    assert {kind for kind, _ in events_told()} <= {"agent.unknown", "agent.ready"}


def test_web_servers_away_under_the_ruling_of_an_earlier_incident(plane):
    token, admin = token_for("agent"), Api(token_for("admin"))
    port = plane.serve()
    plane.sweep("one")
    until(lambda: ready(port))
    agents, silent = register(token, 67), set[str]()
    fleet = Fleet(port, token, agents, silent, pause=10)
    fleet.start()
    until(lambda: swept_for(GRACE + 10), 2 * GRACE)

    # Thirty are cut off, the operator knows that they are dead, and says so for a day.
    silent.update(agents[:30])
    until(lambda: in_state("unknown", agents[:30]), LEASE + 30)
    for environment in ("", "prod"):
        body = {"environment": environment, "ruling": "lift", "seconds": 86_400}
        assert admin.post("fleet-guards:overrule", body).status_code == 200
    until(lambda: in_state("unavailable", agents[:30]))
    silent.clear()
    until(lambda: in_state("ready", agents))

    plane.running.pop(0).kill()
    time.sleep(OUTAGE)

    fleet.stopping.set()
    counted = Counter(Agent.objects.values_list("state", flat=True))
    print(counted)
    assert counted["unavailable"] == 0
    assert Event.objects.filter(type="agent.unavailable").count() == 30


def test_one_that_dies_beside_one_that_beats_is_found_within_its_lease_and_fifteen_seconds(plane):
    token = token_for("agent")
    port = plane.serve()
    plane.sweep("one")
    until(lambda: ready(port))
    agents, silent = register(token, 2), set[str]()
    fleet = Fleet(port, token, agents, silent, pause=25)
    fleet.start()
    until(lambda: swept_for(GRACE + 10), 2 * GRACE)
    until(lambda: fleet.answers[200] >= 4, 120)

    silent.add(agents[0])
    until(lambda: in_state("unavailable", agents[:1]), LEASE + 60)
    fleet.stopping.set()

    event = Event.objects.get(type="agent.unavailable")
    silence = (event.at - Agent.objects.get(id=agents[0]).lease.renewed_at).total_seconds()
    print(f"found {silence:.1f} s after its last heartbeat")
    assert LEASE < silence <= LEASE + 15
