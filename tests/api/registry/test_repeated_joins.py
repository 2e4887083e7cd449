"""Joins whose answer was lost: the same Idempotency-Key gives the same agent a new credential."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now

from controlplane.access.models import Principal, Token
from registry import tasks
from registry.agents.models import Agent, Lease
from registry.joining.models import JoinToken, RepeatableJoin
from tests.api.registry.test_joining import beat, invite
from tests.support.api_client import AGENT, Api, token_for


@pytest.fixture
def api(db):
    return Api(token_for("admin"))


def join(secret, key="k1", **more):
    return Api(secret).post("agents:join", {**AGENT, **more}, Idempotency_Key=key)


def test_a_join_sent_again_gets_the_same_agent_a_new_credential_and_costs_no_use(api):
    secret = invite(api)
    first = join(secret)

    again = join(secret)

    assert (first.status_code, again.status_code) == (201, 201)
    assert again["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first
    lost, body = first.json(), again.json()
    assert body["agent"]["agent_id"] == lost["agent"]["agent_id"]
    assert body["token"] != lost["token"]
    assert beat(lost["token"], body["agent"]["agent_id"]).status_code == 401
    assert beat(body["token"], body["agent"]["agent_id"]).status_code == 200
    assert JoinToken.objects.get().uses_left == 1
    assert (Agent.objects.count(), Principal.objects.filter(name__startswith="agent.").count()) == (1, 1)
    secrets = (lost["token"], body["token"])
    assert not any(secret in str(api.get("audit").json()) for secret in secrets)


def test_it_can_be_sent_again_often_and_after_the_join_token_was_used_up_or_expired(api):
    secret = invite(api, uses=1)
    assert join(secret).status_code == 201

    assert join(secret).status_code == 201
    JoinToken.objects.update(expires_at=Now())
    again = join(secret)

    assert again.status_code == 201
    assert JoinToken.objects.get().uses_left == 0
    # With another key, or none, a used-up token lets nobody in.
    assert join(secret, key="k2", name="a2", topic_name="dcm.agent.a2").status_code == 401
    assert Api(secret).post("agents:join", AGENT).status_code == 401


def test_a_credential_that_was_used_is_not_replaced(api):
    secret = invite(api)
    first = join(secret).json()
    beat(first["token"], first["agent"]["agent_id"])

    again = join(secret)

    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    assert beat(first["token"], first["agent"]["agent_id"]).status_code == 200


def test_a_used_credential_is_known_by_its_heartbeats_and_by_other_calls(api):
    secret = invite(api)
    first = join(secret).json()
    Lease.objects.update(reported_at=Now())  # as fast heartbeats write it
    assert join(secret).status_code == 409

    Lease.objects.update(reported_at=None)
    Api(first["token"]).get("agents")
    assert join(secret).status_code == 409


def test_another_body_under_the_key_is_refused_and_another_join_token_has_other_keys(api):
    secret, other = invite(api), invite(api)
    first = join(secret)

    assert (join(secret, cost="high").status_code, join(secret, name="b").status_code) == (422, 422)
    assert join(other).status_code == 409
    assert Api(secret).post("agents:join", AGENT).status_code == 409
    assert beat(first.json()["token"], first.json()["agent"]["agent_id"]).status_code == 200


def test_a_revoked_join_token_repeats_nothing(api):
    secret = invite(api)
    join(secret)
    JoinToken.objects.update(revoked_at=Now())

    assert join(secret).status_code == 401


def test_after_a_day_and_after_a_removal_the_key_is_new(api):
    secret = invite(api)
    agent_id = join(secret).json()["agent"]["agent_id"]
    api.delete(f"agents/{agent_id}?force=true")
    assert join(secret).json()["agent"]["agent_id"] != agent_id
    assert JoinToken.objects.get().uses_left == 0

    RepeatableJoin.objects.update(created_at=F("created_at") - timedelta(hours=25))
    assert join(secret).status_code == 401
    tasks.tend_agents()
    assert not RepeatableJoin.objects.exists()


def test_a_retired_agent_gets_no_new_credential(api):
    secret = invite(api)
    agent_id = join(secret).json()["agent"]["agent_id"]
    api.post(f"agents/{agent_id}:retire")

    assert join(secret).status_code == 409
    assert Agent.objects.get().state == "retired"


def test_an_agent_that_needs_approval_still_needs_it(api):
    secret = invite(api, needs_approval=True)
    join(secret)

    assert join(secret).json()["agent"]["health_status"] == "registered"


def test_a_take_over_can_be_repeated_too(api):
    Api(token_for("agent")).post("agents", AGENT)
    secret = invite(api, may_take_over=True)
    first, again = join(secret), join(secret)

    assert (first.status_code, again.status_code) == (200, 201)
    assert beat(again.json()["token"], again.json()["agent"]["agent_id"]).status_code == 200
    assert JoinToken.objects.get().uses_left == 1


@pytest.mark.parametrize("key", ["", "ä", "x" * 256, "a b"])
def test_a_bad_key_lets_nobody_in(api, key):
    assert join(invite(api), key=key).status_code == 400
    assert not Agent.objects.exists()


def test_a_dry_run_keeps_no_key(api):
    secret = invite(api)
    tried = Api(secret).post("agents:join?dry_run=true", AGENT, Idempotency_Key="k1")

    assert tried.status_code == 201
    assert not RepeatableJoin.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_many_repetitions_at_once_leave_one_agent_with_one_credential():
    secret = invite(Api(token_for("admin")), uses=5)

    def attempt(_: int):
        try:
            return join(secret)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(attempt, range(12)))

    statuses = [answer.status_code for answer in answers]
    assert set(statuses) <= {201, 409}
    assert 201 in statuses
    assert {answer.json()["code"] for answer in answers if answer.status_code == 409} <= {
        "idempotency_key_in_flight"
    }
    assert (Agent.objects.count(), JoinToken.objects.get().uses_left) == (1, 4)
    valid = Token.objects.filter(principal__name__startswith="agent.", revoked_at=None)
    assert valid.count() == 1
    agent_id = Agent.objects.get().id
    worked = [
        beat(answer.json()["token"], agent_id).status_code for answer in answers if answer.status_code == 201
    ]
    assert worked.count(200) == 1
