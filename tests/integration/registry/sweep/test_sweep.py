"""The sweep on real rows: once each, beside heartbeats, by Postgres' clock."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.postgres.functions import TransactionNow
from django.db import connection, connections
from django.db.models.functions import Now

from controlplane.events.models import Event
from controlplane.identity.actors import Actor
from registry.agents.models import Agent, Lease, SweepRecord
from registry.agents.policies import liveness_policy
from registry.agents.rights import ANY_AGENT, AgentRights
from registry.agents.states import Cost, State
from registry.agents.transitions import move
from registry.heartbeats.record import Heartbeat, record_heartbeat
from registry.joining.register import register
from registry.joining.registration import Registration
from registry.sweep import sweep

ACTOR = Actor(None, "test")


def make_agents(count: int) -> list[Agent]:
    return [
        register(
            Registration(f"a{number}", "prod", ("vm",), Cost.LOW, f"dcm.agent.a{number}", None),
            actor=ACTOR,
            rights=ANY_AGENT,
            policy=liveness_policy(),
        )[0]
        for number in range(count)
    ]


def expire(**filters: object) -> None:
    """Before the transaction began, in which the sweep looks: the test is in it too, and may be slow."""
    Lease.objects.filter(**filters).update(expires_at=TransactionNow() - timedelta(minutes=10))


def long_up() -> None:
    """As if the control plane had been reachable for a day, without a gap."""
    SweepRecord.objects.update(last_sweep_at=Now(), reachable_since=Now() - timedelta(days=1))


def beat(agent: Agent) -> Agent:
    return record_heartbeat(
        agent.id,
        Heartbeat(datetime.now(UTC), 0),
        actor=ACTOR,
        rights=ANY_AGENT,
        policy=liveness_policy(),
        congestion_lag=100,
    )


@pytest.mark.django_db
def test_a_silent_agent_becomes_unavailable_once_and_says_so_once():
    silent, alive = make_agents(2)
    long_up()
    expire(agent=silent)

    assert [sweep.sweep_leases(), sweep.sweep_leases()] == [1, 0]

    silent.refresh_from_db()
    alive.refresh_from_db()
    assert (silent.state, alive.state) == ("unavailable", "ready")
    assert "No heartbeat since" in silent.state_reason
    (event,) = Event.objects.filter(type="agent.unavailable")
    assert (event.object_id, event.data["from"]) == (str(silent.id), "ready")


@pytest.mark.django_db
def test_after_an_outage_of_ours_nobody_is_marked_before_all_could_report_back():
    make_agents(3)
    SweepRecord.objects.update(
        last_sweep_at=Now() - timedelta(minutes=10), reachable_since=Now() - timedelta(days=1)
    )
    expire()

    assert sweep.sweep_leases() == 0
    SweepRecord.objects.update(reachable_since=Now() - timedelta(minutes=10))
    assert sweep.sweep_leases() == 3


@pytest.mark.django_db
def test_a_wild_clock_of_an_agent_keeps_it_neither_alive_nor_dead():
    future, past = make_agents(2)
    long_up()
    for agent, stamp in (
        (future, datetime(2099, 1, 1, tzinfo=UTC)),
        (past, datetime(1980, 1, 1, tzinfo=UTC)),
    ):
        record_heartbeat(
            agent.id,
            Heartbeat(stamp, 0),
            actor=ACTOR,
            rights=ANY_AGENT,
            policy=liveness_policy(),
            congestion_lag=100,
        )

    assert sweep.sweep_leases() == 0
    expire(agent=future)
    assert sweep.sweep_leases() == 1


@pytest.mark.django_db
def test_whoever_saw_an_old_state_moves_nothing_and_says_nothing():
    (agent,) = make_agents(1)
    Agent.objects.update(state="congested")

    assert not move(agent, State.UNAVAILABLE, reason="Late to the party.", actor="test")

    assert Agent.objects.get().state == "congested"
    assert not Event.objects.filter(type="agent.unavailable").exists()


@pytest.mark.django_db(transaction=True)
def test_sweeps_and_heartbeats_at_once_mark_each_silent_agent_once_and_no_beating_one(settings):
    settings.FLEET_GUARD_PERCENT = 101
    agents = make_agents(60)
    long_up()
    expire()
    beating = agents[:20]

    def both(agent: Agent) -> None:
        beat(agent)
        connections.close_all()

    def run_sweep(_: int) -> None:
        sweep.sweep_leases()
        connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        beats = [pool.submit(both, agent) for agent in beating]
        sweeps = [pool.submit(run_sweep, number) for number in range(6)]
        for done in (*beats, *sweeps):
            done.result()
    sweep.sweep_leases()

    states = dict(Agent.objects.values_list("id", "state"))
    assert {states[agent.id] for agent in beating} == {"ready"}
    assert {states[agent.id] for agent in agents[20:]} == {"unavailable"}
    marked = Event.objects.filter(type="agent.unavailable").values_list("object_id", flat=True)
    silent = [str(agent.id) for agent in agents[20:]]
    assert sorted(name for name in marked if name in silent) == sorted(silent)


@pytest.mark.django_db(transaction=True)
def test_first_registrations_of_one_name_that_meet_make_one_agent_and_refuse_nobody():
    with ThreadPoolExecutor(5) as pool:
        created = list(pool.map(register_a, range(5)))

    assert sorted(created) == [False] * 4 + [True]
    assert Agent.objects.count() == 1
    assert Event.objects.filter(type="agent.registered").count() == 1


@pytest.mark.django_db(transaction=True)
def test_an_agent_that_appears_during_a_registration_is_locked_after_its_lease():
    """As in heartbeats and the sweep: in another order, three registrations that meet would deadlock."""
    locked: list[str] = []

    def watch(execute: Any, sql: str, *rest: Any) -> Any:
        answer = execute(sql, *rest)
        if "FOR UPDATE" in sql:
            if not locked:
                with ThreadPoolExecutor(1) as pool:
                    assert pool.submit(register_a).result()
            locked.append("lease" if "registry_lease" in sql else "agent")
        return answer

    with connection.execute_wrapper(watch):
        assert not register_a(closes=False)

    assert locked[:3] == ["lease", "lease", "agent"]


def register_a(_: int = 0, *, closes: bool = True) -> bool:
    """Register an agent in a connection of this thread. Is it new?"""
    registration = Registration("a", "prod", ("vm",), Cost.LOW, "dcm.agent.a", None)
    rights = AgentRights(ACTOR.principal_id)
    try:
        return register(registration, actor=ACTOR, rights=rights, policy=liveness_policy())[1]
    finally:
        if closes:
            connections.close_all()
