"""Leases set by operators: for one agent, for an environment, honoured by every way of a heartbeat."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import F
from django.db.models.functions import Now

from controlplane.access.models import AuditRecord
from controlplane.events.models import Event
from controlplane.identity.callers import ANONYMOUS_READER
from registry.agents import policies
from registry.agents.models import Agent, Lease, SweepRecord
from registry.listing.search import search_agents
from registry.sweep import sweep
from tests.integration.registry.sweep.test_sweep import long_up
from tests.support.api_client import AGENT, Api, token_for

BEAT = {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}
pytestmark = pytest.mark.django_db


@pytest.fixture
def operator():
    return Api(token_for("editor"))


@pytest.fixture
def agents():
    return Api(token_for("agent"))


def register(api, name="a1", environment="edge"):
    body = {**AGENT, "name": name, "environment": environment, "topic_name": f"dcm.agent.{name}"}
    return api.post("agents", body).json()["agent_id"]


def set_lease(api, agent_id, seconds, query=""):
    return api.post(f"agents/{agent_id}:set-lease{query}", {"lease_seconds": seconds})


def set_environment_lease(api, seconds, environment="edge"):
    return api.post("agents:set-environment-lease", {"environment": environment, "lease_seconds": seconds})


def granted(agent_id) -> float:
    lease = Lease.objects.get(agent_id=agent_id)
    return (lease.expires_at - lease.renewed_at).total_seconds()


def alone(api, agent_id):
    return api.put(f"agents/{agent_id}/heartbeat", BEAT).json()


def through_a_gateway(api, agent_id):
    return api.post("agents:heartbeat", {"items": [{**BEAT, "agent_id": agent_id}]}).json()["items"][0][
        "heartbeat"
    ]


@pytest.mark.parametrize("way", [alone, through_a_gateway])
def test_the_agents_lease_comes_before_its_environments_and_that_before_the_installations(
    operator, agents, way
):
    agent_id = register(agents)
    lease_seconds = []
    for change in (
        lambda: None,
        lambda: set_environment_lease(operator, 600),
        lambda: set_lease(operator, agent_id, 1800),
        lambda: set_environment_lease(operator, None),
        lambda: set_lease(operator, agent_id, None),
    ):
        change()
        answer_body = way(agents, agent_id)
        body = operator.get(f"agents/{agent_id}").json()
        assert answer_body["lease_seconds"] == body["lease_seconds"] == granted(agent_id)
        assert answer_body["lease_expires_at"] == body["lease_expires_at"]
        lease_seconds.append((answer_body["lease_seconds"], body["lease_set_for"]))

    assert lease_seconds == [
        (90, "default"),
        (600, "environment"),
        (1800, "agent"),
        (1800, "agent"),
        (90, "default"),
    ]


def test_a_longer_lease_holds_at_once_and_a_shorter_one_from_the_next_heartbeat(operator, agents):
    agent_id = register(agents)

    set_lease(operator, agent_id, 1800)
    assert granted(agent_id) == 1800
    set_lease(operator, agent_id, 120)
    assert granted(agent_id) == 1800
    alone(agents, agent_id)

    assert granted(agent_id) == 120


def test_an_environments_lease_holds_for_agents_that_come_later_and_again_and_from_elsewhere(
    operator, agents
):
    assert set_environment_lease(operator, 1800).json() == {"environment": "edge", "lease_seconds": 1800}
    other = register(agents, "b1", "prod")

    first = register(agents)
    assert (granted(first), granted(other)) == (1800, 90)
    register(agents)
    assert granted(first) == 1800
    register(agents, "b1", "edge")
    assert granted(other) == 1800
    guards = operator.get("fleet-guards").json()["items"]
    assert {guard["environment"]: guard["lease_seconds"] for guard in guards} == {
        "": None,
        "edge": 1800,
        "prod": None,
    }


def test_an_agent_that_joins_gets_its_environments_lease(operator):
    set_environment_lease(operator, 1800)
    token = Api(token_for("admin")).post("join-tokens", {"name": "j", "name_pattern": "*"}).json()["token"]

    joined = Api(token).post("agents:join", {**AGENT, "environment": "edge"}).json()["agent"]

    assert (joined["lease_seconds"], joined["lease_set_for"]) == (1800, "environment")
    assert granted(joined["agent_id"]) == 1800


def test_the_sweep_waits_for_the_whole_lease_and_lateness_follows_it(operator, agents):
    slow, quick = register(agents, "slow"), register(agents, "quick")
    set_lease(operator, slow, 1800)
    alone(agents, slow)
    register(agents, "alive")
    long_up()
    for model, names in ((Lease, ("renewed_at", "expires_at")),):
        past = timedelta(seconds=700)
        silent = model.objects.filter(agent_id__in=[slow, quick])
        silent.update(**{name: F(name) - past for name in names})

    sweep.sweep_leases()
    assert dict(Agent.objects.values_list("name", "state")) == {
        "slow": "ready",
        "quick": "unavailable",
        "alive": "ready",
    }
    assert operator.get(f"agents/{slow}").json()["late"] is False
    assert list(search_agents({"late": True}, ANONYMOUS_READER)) == []
    Lease.objects.filter(agent_id=slow).update(renewed_at=Now() - timedelta(seconds=901))
    assert operator.get(f"agents/{slow}").json()["late"] is True
    assert [search_agent.name for search_agent in search_agents({"late": True}, ANONYMOUS_READER)] == ["slow"]
    Lease.objects.filter(agent_id=slow).update(expires_at=Now() - timedelta(seconds=60))
    sweep.sweep_leases()
    assert Agent.objects.get(name="slow").state == "unavailable"


def test_after_an_outage_a_long_lease_has_a_grace_of_its_own_length(operator, agents):
    slow = register(agents, "slow")
    set_lease(operator, slow, 1800)
    register(agents, "alive")
    Lease.objects.filter(agent_id=slow).update(
        renewed_at=Now() - timedelta(seconds=1900), expires_at=Now() - timedelta(seconds=100)
    )
    SweepRecord.objects.update(last_sweep_at=Now(), reachable_since=Now() - timedelta(seconds=1000))

    sweep.sweep_leases()
    assert Agent.objects.get(name="slow").state == "ready"
    SweepRecord.objects.update(last_sweep_at=Now(), reachable_since=Now() - timedelta(seconds=1900))
    sweep.sweep_leases()
    assert Agent.objects.get(name="slow").state == "unavailable"


@pytest.mark.parametrize("seconds", [89, 0, -1, 86_401, 90.5, "90", True])
def test_a_lease_is_three_intervals_at_least_and_a_day_at_most(operator, agents, seconds):
    agent_id = register(agents)

    for answer in (set_lease(operator, agent_id, seconds), set_environment_lease(operator, seconds)):
        assert answer.status_code == 400
        assert [error["pointer"] for error in answer.json()["errors"]] == ["/lease_seconds"]
    assert granted(agent_id) == 90


def test_in_a_fleet_with_a_longer_interval_a_lease_is_never_shorter_than_three_of_them(operator, agents):
    agent_id = register(agents)
    set_lease(operator, agent_id, 120)
    SweepRecord.objects.update(live_count=400_000)
    policies.forget_fleet()
    try:
        assert (
            alone(agents, agent_id)["lease_seconds"] == through_a_gateway(agents, agent_id)["lease_seconds"]
        )
        assert granted(agent_id) == 336
    finally:
        policies.forget_fleet()


def test_only_operators_set_leases_and_it_is_audited_once(operator, agents):
    agent_id = register(agents)
    assert set_lease(agents, agent_id, 1800).status_code == 403
    assert set_environment_lease(agents, 1800).status_code == 403
    assert set_lease(operator, "019a9f5e-7c00-7000-8000-000000000031", 1800).status_code == 404
    assert set_environment_lease(operator, 1800, "").status_code == 400
    assert set_lease(operator, agent_id, 1800, "?dry_run=true").json()["lease_seconds"] == 1800
    assert granted(agent_id) == 90

    for _ in range(2):
        assert set_lease(operator, agent_id, 1800, "?change_message=slow").status_code == 200
        assert set_environment_lease(operator, 600).status_code == 200

    (row,) = AuditRecord.objects.filter(action="agent.lease_changed")
    assert (row.before, row.after, row.reason) == ({"lease_seconds": None}, {"lease_seconds": 1800}, "slow")
    assert AuditRecord.objects.filter(action="environment.lease_changed").count() == 1
    (event,) = Event.objects.filter(type="agent.lease_changed")
    assert (event.object_id, event.data["lease_seconds"]) == (agent_id, 1800)
