"""Providers on real rows: claims that meet, the sweep beside reports, and one rule in SQL and Python."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connections, transaction
from django.db.models.functions import Now

from controlplane.errors import ServiceTypeTaken
from controlplane.events.models import Event
from controlplane.identity.actors import Actor
from registry import tasks
from registry.agents.models import Agent, Lease, SweepRecord
from registry.agents.policies import liveness_policy
from registry.agents.rights import ANY_AGENT
from registry.heartbeats.record import Heartbeat, record_heartbeat
from registry.heartbeats.reports import Report
from registry.providers import expiry, leases
from registry.providers.health import Health
from registry.providers.models import Provider, ProviderChange
from registry.providers.register import ProviderAccess, register_provider
from registry.providers.registration import ProviderRegistration
from tests.integration.registry.sweep.test_sweep import long_up, make_agents

ALLOWED = ProviderAccess(Actor(None, "test"), ANY_AGENT)


def offer(agent: Agent, name: str, service_type: str = "vm") -> Provider:
    provider_registration = ProviderRegistration(name, "http://p:1", service_type, "v1", status=Health.READY)
    return register_provider(
        agent.id, provider_registration, provider_id=name, access=ALLOWED, policy=liveness_policy()
    )[0]


def silence(seconds: int = 100) -> None:
    """Nobody has named any provider for so long after its lease."""
    Provider.objects.update(expires_at=Now() - timedelta(seconds=seconds))
    Agent.objects.update(state_since=Now() - timedelta(hours=1))


def report(agent: Agent, number: int, *names: str) -> None:
    bodies = [{"name": name, "service_type": "vm", "status": "ready"} for name in names]
    record_heartbeat(
        agent.id,
        Heartbeat(datetime.now(UTC), 0, Report({"providers": bodies}, number.to_bytes(16))),
        actor=ALLOWED.actor,
        rights=ANY_AGENT,
        policy=liveness_policy(),
        congestion_lag=100,
    )


def at_once(work, arguments) -> list:
    def closing(argument):
        try:
            return work(argument)
        except ServiceTypeTaken as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(arguments)) as pool:
        return list(pool.map(closing, arguments))


@pytest.mark.django_db(transaction=True)
def test_of_claims_that_meet_one_has_the_type_and_all_others_are_told_by_whom():
    (agent,) = make_agents(1)

    outcomes = at_once(lambda number: offer(agent, f"p{number}"), range(12))

    (winner,) = [outcome for outcome in outcomes if isinstance(outcome, Provider)]
    assert Provider.objects.get().name == winner.name
    losers = [outcome for outcome in outcomes if isinstance(outcome, ServiceTypeTaken)]
    assert {loser.members["holder"]["name"] for loser in losers} == {winner.name}
    assert len(losers) == 11


@pytest.mark.django_db(transaction=True)
def test_many_sweeps_at_once_free_each_type_once():
    agents = make_agents(20)
    for agent in agents:
        offer(agent, "dead")
        offer(agent, "alive", "container")
    long_up()
    silence()
    Provider.objects.filter(name="alive").update(expires_at=Now() + timedelta(seconds=60))

    freed = sum(at_once(lambda _: expiry.expire_providers(), range(6)))
    while more := expiry.expire_providers():
        freed += more

    assert freed == 20
    assert Event.objects.filter(type="provider.expired").count() == 20
    assert set(Provider.objects.filter(holds_type=True).values_list("name", flat=True)) == {"alive"}
    history = ProviderChange.objects.filter(new="unavailable")
    assert history.count() == 20


@pytest.mark.django_db(transaction=True)
def test_the_sweep_leaves_an_agent_whose_report_is_being_taken():
    (agent,) = make_agents(1)
    offer(agent, "vms")
    long_up()
    silence()

    with transaction.atomic():
        report(agent, 1, "vms")
        assert at_once(lambda _: expiry.expire_providers(), [0]) == [0]

    assert expiry.expire_providers() == 0
    assert Provider.objects.get().holds_type


@pytest.mark.django_db
def test_nothing_is_judged_of_a_silent_agents_providers():
    (agent,) = make_agents(1)
    offer(agent, "vms")
    long_up()
    silence()
    Lease.objects.update(expires_at=Now() - timedelta(minutes=10))

    assert expiry.expire_providers() == 0


@pytest.mark.django_db
def test_an_agent_that_has_just_come_back_has_a_lease_to_name_its_providers():
    (agent,) = make_agents(1)
    offer(agent, "vms")
    long_up()
    silence()

    Agent.objects.update(state_since=Now() - timedelta(seconds=80))
    assert expiry.expire_providers() == 0
    Agent.objects.update(state_since=Now() - timedelta(seconds=100))
    assert expiry.expire_providers() == 1


@pytest.mark.django_db
def test_after_an_outage_of_ours_no_type_is_freed_before_all_could_report():
    (agent,) = make_agents(1)
    offer(agent, "vms")
    silence()

    SweepRecord.objects.update(last_sweep_at=Now(), reachable_since=Now() - timedelta(seconds=80))
    assert expiry.expire_providers() == 0
    SweepRecord.objects.update(last_sweep_at=Now(), reachable_since=Now() - timedelta(seconds=100))
    assert expiry.expire_providers() == 1


@pytest.mark.django_db
def test_the_sweeps_task_frees_types_too():
    (agent,) = make_agents(1)
    offer(agent, "vms")
    long_up()
    silence()

    tasks.sweep_leases()

    agent.refresh_from_db()
    assert agent.service_type_conditions[0]["status"] == "unavailable"
    assert not Provider.objects.get().holds_type


@pytest.mark.django_db
def test_the_rule_in_sql_is_the_rule_in_python():
    # Far enough apart: in a test, now() in SQL is when its transaction began.
    ends, vouches, times = (-1000, -30, 60), (True, False), (None, -2000, -120, -60, 0)
    cases = list(itertools.product(ends, vouches, times))
    policy = liveness_policy()
    agents = make_agents(len(cases))
    for agent, (end, vouched, at) in zip(agents, cases, strict=True):
        offer(agent, "vms")
        Provider.objects.filter(agent=agent).update(
            expires_at=Now() + timedelta(seconds=end), vouched=vouched
        )
        Lease.objects.filter(agent=agent).update(
            vouched_at=None if at is None else Now() + timedelta(seconds=at)
        )
    long_up()
    Agent.objects.update(state_since=Now() - timedelta(hours=1))

    due = set(expiry._agents_with_due(policy))

    leased = Lease.objects.annotate(now=Now()).select_related("agent")
    for lease in leased:
        provider = Provider.objects.get(agent=lease.agent)
        assert (lease.agent_id in due) == leases.is_over(provider, lease, policy, lease.now)
    assert 0 < len(due) < len(cases)
