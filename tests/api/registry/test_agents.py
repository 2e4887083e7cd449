"""Agents through HTTP: DCM's wire contract, and who may beat for whom."""

import uuid
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from controlplane.events.models import Event
from registry.agents import policies
from registry.agents.models import Agent, Lease
from tests.support.api_client import Api, token_for

BODY = {
    "name": "prod-eu-1",
    "environment": "prod-eu-west-1",
    "service_types": ["vm", "container"],
    "cost": "medium-low",
    "topic_name": "dcm.agent.prod-eu-1",
    "resources_available": {
        "total_cpu": 200,
        "total_memory": "1TB",
        "total_storage": "2TB",
        "total_node": 100,
    },
}
BEAT = {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}


@pytest.fixture
def agent_api(db):
    return Api(token_for("agent"))


def beat(api, agent_id, **changes):
    return api.put(f"agents/{agent_id}/heartbeat", {**BEAT, **changes})


def test_registering_is_201_and_again_200_with_the_same_id(agent_api):
    first, again = agent_api.post("agents", BODY), agent_api.post("agents", BODY)

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["agent_id"] == again.json()["agent_id"]
    for name, value in BODY.items():
        assert first.json()[name] == value
    assert first.json()["health_status"] == "ready"
    assert first.json()["heartbeat_interval"] == 30
    assert 24 <= first.json()["next_heartbeat_in_seconds"] <= 30
    assert agent_api.get(first["Location"]).json()["name"] == "prod-eu-1"


def test_registering_again_with_other_facts_overwrites_them_and_says_so(agent_api):
    agent_api.post("agents", BODY)

    answer = agent_api.post("agents", {**BODY, "service_types": [], "cost": "high"})

    assert answer.json()["service_types"] == []
    types = list(
        Event.objects.filter(object_type="agent").order_by("position").values_list("type", flat=True)
    )
    assert types == ["agent.registered", "agent.changed"]


def test_a_name_or_topic_of_another_token_is_409(agent_api):
    agent_api.post("agents", BODY)
    thief = Api(token_for("agent"))

    name = thief.post("agents", BODY)
    topic = thief.post("agents", {**BODY, "name": "other"})

    assert (name.status_code, topic.status_code) == (409, 409)
    assert Agent.objects.count() == 1


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"cost": "cheap"}, "/cost"),
        ({"topic_name": "dcm.agent.*"}, "/topic_name"),
        ({"topic_name": "dcm.agent.>"}, "/topic_name"),
        ({"topic_name": "dcm.agent.a.cancel"}, "/topic_name"),
        ({"topic_name": "other.a"}, "/topic_name"),
        ({"service_types": "vm"}, "/service_types"),
        ({"service_types": [1]}, "/service_types/0"),
        ({"name": ""}, "/name"),
        ({"name": 5}, "/name"),
        ({"resources_available": {"total_cpu": "many"}}, "/resources_available/total_cpu"),
        ({"last_heartbeat": "2020-01-01T00:00:00Z"}, "/last_heartbeat"),
    ],
)
def test_a_bad_registration_names_the_field(agent_api, change, pointer):
    answer = agent_api.post("agents", {**BODY, **change})

    assert answer.status_code == 400
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]
    assert not Agent.objects.exists()


def test_a_heartbeat_renews_the_lease_by_our_clock(agent_api):
    agent_id = agent_api.post("agents", BODY).json()["agent_id"]
    Lease.objects.update(renewed_at=Now() - timedelta(seconds=80), expires_at=Now() + timedelta(seconds=10))
    before = agent_api.get(f"agents/{agent_id}").json()

    beat(agent_api, agent_id, timestamp="2099-01-01T00:00:00Z")
    after = agent_api.get(f"agents/{agent_id}").json()

    assert before["late"]
    assert not after["late"]
    assert after["lease_expires_at"] > before["lease_expires_at"]
    assert after["last_heartbeat"] < "2099"
    assert after["clock_skew_ms"] > 10**9
    assert after["conditions"][-1]["type"] == "ClockSynced"
    assert after["conditions"][-1]["status"] == "false"


@pytest.mark.parametrize(
    "stamp", ["1970-01-01T00:00:00Z", "2026-11-21T09:30:00.123456+05:30", "9999-12-31T23:00:00Z"]
)
def test_no_clock_of_an_agent_is_so_wrong_that_its_beat_is_refused(agent_api, stamp):
    agent_id = agent_api.post("agents", BODY).json()["agent_id"]

    assert beat(agent_api, agent_id, timestamp=stamp).status_code == 200
    assert beat(agent_api, agent_id).status_code == 200


def test_congestion_begins_at_the_threshold_and_ends_below_it(agent_api):
    agent_id = agent_api.post("agents", BODY).json()["agent_id"]

    states = [
        beat(agent_api, agent_id, consumer_lag=lag).json()["health_status"] for lag in (99, 100, 5000, 0)
    ]

    assert states == ["ready", "congested", "congested", "ready"]
    types = Event.objects.filter(object_type="agent").order_by("position").values_list("type", flat=True)
    assert list(types) == ["agent.registered", "agent.congested", "agent.ready"]


def test_a_silent_agent_that_beats_again_is_ready_again_and_says_so(agent_api):
    agent_id = agent_api.post("agents", BODY).json()["agent_id"]
    Agent.objects.update(state="unavailable")

    answer = beat(agent_api, agent_id)

    assert answer.json()["health_status"] == "ready"
    assert Event.objects.filter(type="agent.ready").count() == 1


def test_an_unknown_agent_is_told_to_register_again(agent_api):
    answer = beat(agent_api, uuid.uuid4())

    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_agent")
    assert "POST /api/v1/agents" in answer.json()["detail"]


@pytest.mark.parametrize(
    "change",
    [
        {"timestamp": "yesterday"},
        {"timestamp": "2026-11-21T09:30:00"},
        {"timestamp": 5},
        {"consumer_lag": -1},
        {"consumer_lag": "0"},
        {"consumer_lag": 2**63},
        {"consumer_lag": True},
    ],
)
def test_a_bad_heartbeat_is_refused_and_renews_nothing(agent_api, change):
    agent_id = agent_api.post("agents", BODY).json()["agent_id"]
    before = Lease.objects.values().get()

    assert beat(agent_api, agent_id, **change).status_code == 400
    assert Lease.objects.values().get() == before


def test_nobody_beats_for_the_agent_of_another_token(agent_api):
    agent_id = agent_api.post("agents", BODY).json()["agent_id"]
    before = Lease.objects.values().get()

    answer = beat(Api(token_for("agent")), agent_id)

    assert answer.status_code == 403
    assert Lease.objects.values().get() == before


def test_a_heartbeat_is_three_reads_and_one_write(agent_api, django_assert_num_queries, monkeypatch):
    # The size of the fleet is read every few seconds, which may pass during the test.
    monkeypatch.setattr(policies, "_CACHE_SECONDS", 3600.0)
    agent_id = agent_api.post("agents", BODY).json()["agent_id"]
    beat(agent_api, agent_id)

    # Token with its roles, savepoint, lease, agent, renewal, savepoint: no event, no audit row.
    with django_assert_num_queries(6):
        beat(agent_api, agent_id)


def test_agents_are_listed_and_filtered(agent_api):
    for name, environment in (("a", "prod"), ("b", "dev"), ("c", "dev")):
        agent_api.post(
            "agents", {**BODY, "name": name, "topic_name": f"dcm.agent.{name}", "environment": environment}
        )
    Agent.objects.filter(name="c").update(state="unavailable")

    def names(query):
        return [agent["name"] for agent in agent_api.get(f"agents?{query}").json()["items"]]

    assert names("") == ["a", "b", "c"]
    assert names("environment=dev") == ["b", "c"]
    assert names("health_status=unavailable") == ["c"]
    assert names("service_type=vm&limit=2") == ["a", "b"]
    assert names("service_type=storage") == []


def test_the_list_costs_the_same_for_one_agent_or_twenty(agent_api, django_assert_num_queries):
    for number in range(20):
        agent_api.post("agents", {**BODY, "name": f"a{number}", "topic_name": f"dcm.agent.{number}"})

    with django_assert_num_queries(2):
        assert len(agent_api.get("agents").json()["items"]) == 20
