"""Promises to a fleet, on real processes with short leases: wild clocks, mass silence, our own outage."""

from __future__ import annotations

import signal
import time
from collections import Counter
from datetime import timedelta

import pytest
from django.db.models import F
from django.db.models.functions import Now

from controlplane.events.models import Event
from controlplane.local.programs import stop_all
from registry.agents.models import Lease, SweepRecord
from registry.environments.models import Environment
from tests.conftest import QUICK_LIVENESS
from tests.support.api_client import token_for
from tests.support.fleet import (
    Fleet,
    Plane,
    death_after,
    each_once,
    events_told,
    in_state,
    ready,
    register,
    swept_for,
    until,
)

LEASE = timedelta(seconds=int(QUICK_LIVENESS["LEASE_SECONDS"]))


@pytest.fixture
def plane(system, transactional_db, tmp_path):
    """The shared system rests: its beat is stopped, so nobody but ours sweeps."""
    system.beat.send_signal(signal.SIGSTOP)
    running = Plane(system.environment, tmp_path)
    yield running
    stop_all(running.running, patience=5)


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
