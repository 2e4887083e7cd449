"""Heartbeats of many agents in one call: each is answered as if it had come alone."""

from __future__ import annotations

import uuid

import pytest

from registry.agents.models import Agent, AgentReport, Lease
from tests.support.api_client import AGENT, Api, token_for

BEAT = {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}


@pytest.fixture
def gateway(db):
    return Api(token_for("agent"))


def register(api, *names):
    return [
        api.post("agents", {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}"}).json()["agent_id"]
        for name in names
    ]


def beat(api, *items):
    return api.post("agents:heartbeat", {"items": [{**BEAT, **item} for item in items]})


def test_each_agent_is_answered_in_the_order_of_the_call(gateway):
    own_agents = register(gateway, "a", "b", "c")
    (other,) = register(Api(token_for("agent")), "other")
    nobody = str(uuid.uuid4())
    Agent.objects.filter(name="b").update(state="unavailable")

    agent_ids = [own_agents[2], nobody, own_agents[1], other, own_agents[0]]
    answer = beat(gateway, *({"agent_id": agent_id} for agent_id in agent_ids))

    items = answer.json()["items"]
    assert [item["agent_id"] for item in items] == agent_ids
    assert [(item["status"], item["code"]) for item in items] == [
        (200, None),
        (404, "unknown_agent"),
        (200, None),
        (403, "permission_denied"),
        (200, None),
    ]
    assert items[2]["heartbeat"]["health_status"] == "ready"
    assert items[1]["heartbeat"] is None


def test_it_tells_each_what_a_heartbeat_alone_tells(gateway):
    (agent,) = register(gateway, "a")

    alone = gateway.put(f"agents/{agent}/heartbeat", BEAT).json()
    (many,) = beat(gateway, {"agent_id": agent}).json()["items"]

    differing = {"last_heartbeat", "lease_expires_at", "next_heartbeat_in_seconds"}
    assert many["heartbeat"].keys() == alone.keys()
    for name in alone.keys() - differing:
        assert many["heartbeat"][name] == alone[name]


def test_who_may_change_agents_beats_for_all(gateway):
    agents = register(gateway, "a", "b")

    answer = beat(Api(token_for("editor")), *({"agent_id": agent} for agent in agents))

    assert [item["status"] for item in answer.json()["items"]] == [200, 200]


def test_reports_and_congestion_are_taken_too(gateway):
    agents = register(gateway, "a", "b")

    beat(
        gateway,
        {"agent_id": agents[0], "versions": {"agent": "1"}},
        {"agent_id": agents[1], "consumer_lag": 100},
    )

    assert AgentReport.objects.get().versions == {"agent": "1"}
    assert Agent.objects.get(name="b").state == "congested"
    assert Lease.objects.get(agent__name="b").consumer_lag == 100


def test_a_thousand_usual_heartbeats_are_one_statement(gateway, django_assert_max_num_queries):
    agents = register(gateway, *(f"a{number}" for number in range(30)))
    beat(gateway, *({"agent_id": agent} for agent in agents))

    with django_assert_max_num_queries(6):
        beat(gateway, *({"agent_id": agent} for agent in agents))


@pytest.mark.parametrize(
    ("items", "pointer"),
    [
        ([{"agent_id": str(uuid.UUID(int=number))} for number in range(1001)], "/items"),
        ({"agent_id": "x"}, "/items"),
        (None, "/items"),
    ],
)
def test_a_bad_call_renews_nothing_and_says_where(gateway, items, pointer):
    bulk = {"items": [{**BEAT, **item} for item in items]} if isinstance(items, list) else {"items": items}
    answer = gateway.post("agents:heartbeat", bulk)

    assert answer.status_code == 400
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


BAD = [
    ({"agent_id": "x", **BEAT}, "x", "/agent_id"),
    ({"agent_id": 5, **BEAT}, "", "/agent_id"),
    (BEAT, "", "/agent_id"),
    ("no object", "", ""),
    (None, "", ""),
    ({"agent_id": str(uuid.UUID(int=1)), **BEAT, "consumer_lag": -1}, str(uuid.UUID(int=1)), "/consumer_lag"),
    ({"agent_id": str(uuid.UUID(int=1)), "consumer_lag": 0}, str(uuid.UUID(int=1)), "/timestamp"),
    (
        {"agent_id": str(uuid.UUID(int=1)), **BEAT, "conditions": [{"type": "X"}]},
        str(uuid.UUID(int=1)),
        "/conditions/0/status",
    ),
]


@pytest.mark.parametrize(("entry", "expected", "pointer"), BAD)
def test_a_bad_entry_refuses_no_other(gateway, entry, expected, pointer):
    first, last = register(gateway, "a", "b")

    items = [{**BEAT, "agent_id": first}, entry, {**BEAT, "agent_id": last}]
    answer = gateway.post("agents:heartbeat", {"items": items})

    results = answer.json()["items"]
    assert [result["status"] for result in results] == [200, 400, 200]
    assert (results[1]["agent_id"], results[1]["code"], results[1]["heartbeat"]) == (
        expected,
        "invalid_request",
        None,
    )
    assert [error["pointer"] for error in results[1]["errors"]] == [pointer]
    assert not Lease.objects.filter(reported_at=None).exists()


def test_of_two_entries_for_one_agent_the_first_counts(gateway):
    (agent,) = register(gateway, "a")

    answer = beat(gateway, {"agent_id": agent, "consumer_lag": 3}, {"agent_id": agent, "consumer_lag": 7})

    assert [item["status"] for item in answer.json()["items"]] == [200, 400]
    assert answer.json()["items"][1]["errors"][0]["code"] == "repeated_agent"
    assert Lease.objects.get().consumer_lag == 3


def test_members_of_a_newer_agent_are_ignored(gateway):
    (agent,) = register(gateway, "a")
    newer = {
        "temperature": 5,
        "conditions": [{"type": "DiskPressure", "status": "false", "since": "yesterday"}],
        "providers": [{"name": "p", "service_type": "vm", "status": "ready", "load": 0.5}],
    }

    (many,) = beat(gateway, {"agent_id": agent, **newer}).json()["items"]
    alone = gateway.put(f"agents/{agent}/heartbeat", {**BEAT, **newer})

    assert (many["status"], alone.status_code) == (200, 200)
    report = AgentReport.objects.get()
    assert report.conditions == [{"type": "DiskPressure", "status": "false"}]
    assert report.providers == [{"name": "p", "service_type": "vm", "status": "ready"}]


UNUSUAL = [
    {},
    {"agent_id": str.upper},
    {"timestamp": "2026-11-21 09:30:00+00:00"},
    {"timestamp": "2026-11-21T09:30Z"},
    {"timestamp": "2026-11-21T09:30:00.5+02:00"},
    {"timestamp": "2026-02-30T09:30:00Z"},
    {"timestamp": "2026-11-21T09:30:00+99:00"},
    {"timestamp": "2026-11-21T09:30:00"},
    {"timestamp": "٢٠26-11-21T09:30:00Z"},
    {"timestamp": 5},
    {"consumer_lag": "0"},
    {"consumer_lag": True},
    {"consumer_lag": 2**63 - 1},
    {"consumer_lag": 2**63},
    {"instance_uuid": None},
    {"instance_uuid": "x"},
    {"instance_uuid": "{019a9f5e-7c00-7000-8000-000000000031}"},
    {"versions": {"agent": "1"}, "conditions": []},
    {"versions": {"agent": 1}},
    {"providers": 5},
    {"more": [1]},
]


@pytest.mark.parametrize("members", UNUSUAL, ids=str)
def test_an_entry_is_judged_as_a_heartbeat_alone(gateway, members):
    first, second = register(gateway, "a", "b")
    members = {name: value(second) if callable(value) else value for name, value in members.items()}

    alone = gateway.put(f"agents/{first}/heartbeat", {**BEAT, **members})
    (many,) = beat(gateway, {"agent_id": second, **members}).json()["items"]

    assert many["status"] == alone.status_code
    if alone.status_code == 200:
        stored = Lease.objects.values_list("reported_at", "consumer_lag", "instance_uuid", "report_digest")
        assert len({tuple(map(str, row)) for row in stored}) == 1
        assert AgentReport.objects.count() in (0, 2)
    else:
        assert _codes(many) == _codes(alone.json())


def _codes(refusal):
    return [(error["pointer"], error["code"], error["message"]) for error in refusal["errors"]]


def test_a_report_that_has_not_changed_costs_no_further_statement(gateway, django_assert_max_num_queries):
    agents = register(gateway, *(f"a{number}" for number in range(10)))
    items = [{"agent_id": agent, "versions": {"agent": agent}} for agent in agents]
    beat(gateway, *items)
    with django_assert_max_num_queries(4):
        unchanged = beat(gateway, *items)

    items[3] = {**items[3], "versions": {"agent": "2"}}
    items[4] = {**items[4], "versions": {"agent": 2}}
    changed = beat(gateway, *items)

    assert {item["status"] for item in unchanged.json()["items"]} == {200}
    assert [item["status"] for item in changed.json()["items"]] == [200] * 4 + [400] + [200] * 5
    assert AgentReport.objects.get(agent_id=agents[3]).versions == {"agent": "2"}
    assert AgentReport.objects.get(agent_id=agents[4]).versions == {"agent": agents[4]}


def test_of_two_entries_the_first_with_a_valid_report_counts(gateway):
    (agent,) = register(gateway, "a")

    answer = beat(
        gateway,
        {"agent_id": agent, "consumer_lag": 3, "versions": {"agent": 1}},
        {"agent_id": agent, "consumer_lag": 7},
    )

    assert [item["status"] for item in answer.json()["items"]] == [400, 200]
    assert Lease.objects.get().consumer_lag == 7
