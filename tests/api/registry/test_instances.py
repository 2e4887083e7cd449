"""Two processes with one name and one credential: the first keeps the name while it beats."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import F
from django.db.models.functions import Now
from hypothesis import given
from hypothesis import strategies as st

from controlplane.events.models import Event
from registry.agents.instances import Holder
from registry.agents.models import Agent, Lease
from tests.support.api_client import AGENT, Api, token_for
from tests.unit.registry.agents.test_liveness import NOW

FIRST, SECOND, THIRD = (f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2, 3))
BEAT = {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}


@pytest.fixture
def api(db):
    return Api(token_for("agent"))


def register(api, instance, **more):
    stated = {} if instance is None else {"instance_uuid": instance}
    return api.post("agents", {**AGENT, **stated, **more})


def beat(api, instance):
    agent_id = Agent.objects.get().id
    return api.put(f"agents/{agent_id}/heartbeat", {**BEAT, "instance_uuid": instance})


def fall_silent(seconds: float) -> None:
    past = timedelta(seconds=seconds)
    Lease.objects.update(renewed_at=F("renewed_at") - past, rival_since=F("rival_since") - past)


def duplicates():
    return list(Event.objects.filter(type="agent.duplicated").values_list("data", flat=True))


def test_the_second_process_is_refused_and_told_when_to_try_again(api):
    register(api, FIRST)
    before = Lease.objects.values("generation", "renewed_at", "instance_uuid").get()

    answer = register(api, SECOND, cost="high")

    assert (answer.status_code, answer.json()["code"]) == (409, "duplicate_instance")
    assert 1 <= int(answer["Retry-After"]) == answer.json()["retry_after"] <= 45
    assert Lease.objects.values("generation", "renewed_at", "instance_uuid").get() == before
    assert Agent.objects.get().cost == "low"
    assert duplicates() == []  # it may be a restart


def test_two_that_run_at_once_are_announced_once_and_shown(api):
    register(api, FIRST)
    for _ in range(3):
        assert register(api, SECOND).status_code == 409
        assert beat(api, FIRST).status_code == 200
        assert beat(api, SECOND).status_code == 409

    (event,) = duplicates()
    assert (event["instance_uuid"], event["refused_instance_uuid"]) == (FIRST, SECOND)
    conditions = api.get(f"agents/{Agent.objects.get().id}").json()["conditions"]
    assert {condition["type"]: condition["status"] for condition in conditions} == {
        "SingleInstance": "false",
        "ClockSynced": "false",
    }
    fall_silent(601)  # the duplicate was stopped
    conditions = api.get(f"agents/{Agent.objects.get().id}").json()["conditions"]
    assert [condition["type"] for condition in conditions] == ["ClockSynced"]


def test_a_restart_takes_over_as_soon_as_the_former_process_is_late_and_is_no_duplicate(api):
    register(api, FIRST)
    beat(api, FIRST)
    for _ in range(3):
        assert register(api, SECOND).status_code == 409
        fall_silent(14)
    fall_silent(4)

    assert register(api, SECOND).status_code == 200
    assert beat(api, SECOND).status_code == 200
    # Whoever had the name is the second process now.
    assert beat(api, FIRST).status_code == register(api, FIRST).status_code == 409
    assert duplicates() == []
    assert Lease.objects.get().generation == 2


def test_after_a_goodbye_the_name_is_free_at_once(api):
    register(api, FIRST)
    api.post(f"agents/{Agent.objects.get().id}:deregister")

    assert register(api, SECOND).status_code == 200
    assert beat(api, SECOND).status_code == 200


def test_the_same_process_registers_again_as_often_as_it_likes(api):
    assert [register(api, FIRST, cost=cost).status_code for cost in ("low", "high", "low")] == [201, 200, 200]


def test_who_states_no_instance_is_served_as_before(api):
    register(api, FIRST)
    agent_id = Agent.objects.get().id

    assert api.put(f"agents/{agent_id}/heartbeat", BEAT).status_code == 200
    assert register(api, None).status_code == 200
    assert Lease.objects.get().instance_uuid is None
    assert beat(api, SECOND).status_code == 200  # the first that states one has the name
    assert beat(api, FIRST).status_code == 409


def test_a_gateway_and_an_operator_are_refused_too(api):
    register(api, FIRST)
    agent_id = str(Agent.objects.get().id)
    items = [{**BEAT, "agent_id": agent_id, "instance_uuid": SECOND}]

    for caller in (api, Api(token_for("editor"))):
        (result,) = caller.post("agents:heartbeat", {"items": items}).json()["items"]
        assert (result["status"], result["code"]) == (409, "duplicate_instance")
    assert register(Api(token_for("editor")), THIRD).status_code == 409


def test_a_join_that_takes_over_needs_no_consent(api):
    register(api, FIRST)
    token = Api(token_for("admin")).post(
        "join-tokens", {"name": "j", "name_pattern": "*", "may_take_over": True}
    )

    joined = Api(token.json()["token"]).post("agents:join", {**AGENT, "instance_uuid": SECOND})

    assert joined.status_code == 200
    assert beat(Api(joined.json()["token"]), SECOND).status_code == 200


def test_an_agent_that_joins_holds_its_name_from_the_start(api):
    token = Api(token_for("admin")).post("join-tokens", {"name": "j", "name_pattern": "*"}).json()["token"]
    own = Api(Api(token).post("agents:join", {**AGENT, "instance_uuid": FIRST}).json()["token"])

    assert register(own, SECOND).status_code == 409
    assert beat(own, SECOND).status_code == 409
    assert beat(own, FIRST).status_code == 200


@pytest.mark.parametrize("instance", ["x", 5, "", True])
def test_an_instance_is_a_uuid(api, instance):
    answer = register(api, instance)

    assert answer.status_code == 400
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/instance_uuid"]


@given(st.floats(0, 200), st.sampled_from([1, 30, 278]))
def test_a_name_is_held_for_one_and_a_half_intervals(silence, interval):
    holder = Holder(None, NOW - timedelta(seconds=silence), timedelta(seconds=interval))

    assert holder.holds_for(NOW) == max(
        timedelta(), timedelta(seconds=1.5 * interval) - timedelta(seconds=silence)
    )


def test_a_late_process_is_taken_over_before_the_sweep_marks_it(api):
    """One and a half intervals are half of the shortest lease: a restart costs no `unavailable`."""
    register(api, FIRST)
    Lease.objects.update(renewed_at=Now() - timedelta(seconds=46), expires_at=Now() + timedelta(seconds=44))

    assert register(api, SECOND).status_code == 200
    assert Agent.objects.get().state == "ready"
