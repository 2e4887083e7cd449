"""Join tokens, credentials, approval and rotation through HTTP."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from controlplane.access.models import AuditRecord, Principal, Token
from registry.agents.models import Agent
from registry.joining.models import JoinToken
from tests.support.api_client import AGENT, Api, token_for

INVITATION = {"name": "fleet", "name_pattern": "a*", "uses": 2}
BEAT = {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}


def invite(api: Api, **more: Any) -> str:
    answer = api.post("join-tokens", {**INVITATION, **more})
    assert answer.status_code == 201, answer.content
    return answer.json()["token"]


def joined(api: Api, **more: Any) -> dict[str, Any]:
    answer = Api(invite(api)).post("agents:join", {**AGENT, **more})
    assert answer.status_code == 201, answer.content
    return answer.json()


def beat(token: str, agent_id: str) -> Any:
    return Api(token).put(f"agents/{agent_id}/heartbeat", BEAT)


def test_an_agent_joins_beats_and_registers_again_with_its_own_token(api):
    joined_body = joined(api)
    agent_id, token = joined_body["agent"]["agent_id"], joined_body["token"]

    assert token.startswith("cp_agt_")
    assert joined_body["agent"]["health_status"] == "ready"
    assert beat(token, agent_id).status_code == 200
    again = Api(token).post("agents", {**AGENT, "labels": {"team": "ml"}, "capacity": 3})
    assert (again.status_code, again.json()["agent_id"]) == (200, agent_id)
    assert (again.json()["labels"], again.json()["capacity"]) == ({"team": "ml"}, 3)
    assert api.get("join-tokens").json()["items"][0]["uses_left"] == 1


def test_no_secret_is_kept_or_told_again(api):
    secret = invite(api)
    token = Api(secret).post("agents:join", AGENT).json()["token"]

    pages = str([api.get(path).json() for path in ("join-tokens", "audit", "events", "agents")])
    assert secret not in pages
    assert token not in pages
    assert secret.encode() not in bytes(JoinToken.objects.get().digest)


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({"name": "b1"}, ["/name"]),
        ({"environment": "dev"}, ["/environment"]),
        ({"service_types": ["vm", "gpu"]}, ["/service_types"]),
        ({"name": "b1", "environment": "dev"}, ["/name", "/environment"]),
    ],
)
def test_a_token_admits_only_whom_it_names_and_is_not_used_up(api, body, pointers):
    secret = invite(api, environment="prod", service_types=["vm"])

    refused = Api(secret).post("agents:join", {**AGENT, **body})

    assert (refused.status_code, [error["pointer"] for error in refused.json()["errors"]]) == (400, pointers)
    assert not Agent.objects.exists()
    assert JoinToken.objects.get().uses_left == 2
    assert not Principal.objects.filter(name__startswith="agent.").exists()


def test_a_token_that_is_used_up_revoked_or_over_lets_nobody_in(api):
    once = invite(api, uses=1)
    Api(once).post("agents:join", AGENT)
    revoked = invite(api)
    newest = api.get("join-tokens").json()["items"][0]["id"]
    assert api.delete(f"join-tokens/{newest}").status_code == 204
    assert api.delete(f"join-tokens/{newest}").status_code == 404
    over = invite(api)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE registry_jointoken SET expires_at = now() WHERE revoked_at IS NULL AND uses_left = 2"
        )

    for secret, word in (
        (once, "used up"),
        (revoked, "revoked"),
        (over, "expired"),
        ("cp_joi_x", "join token"),
    ):
        refused = Api(secret).post("agents:join", {**AGENT, "name": "a2", "topic_name": "dcm.agent.a2"})
        assert (refused.status_code, word in refused.json()["detail"]) == (401, True), secret
    assert Agent.objects.count() == 1
    Api(once).post("agents:join", {**AGENT, "name": "a3", "topic_name": "dcm.agent.a3"})
    # Each that is known, and not the one that nobody made; and none again within a minute.
    audit_records = (
        AuditRecord.objects.filter(action="join_token.refused")
        .order_by("id")
        .values_list("reason", flat=True)
    )
    assert [
        word for reason in audit_records for word in ("used up", "revoked", "expired") if word in reason
    ] == [
        "used up",
        "revoked",
        "expired",
    ]
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")  # records never change, but here
        cursor.execute("UPDATE access_auditrecord SET at = at - interval '2 minutes'")
        cursor.execute("SET LOCAL session_replication_role = DEFAULT")
    Api(once).post("agents:join", {**AGENT, "name": "a3", "topic_name": "dcm.agent.a3"})
    assert AuditRecord.objects.filter(action="join_token.refused", reason__contains="used up").count() == 2


def test_a_join_token_opens_no_other_door_and_no_other_token_opens_this_one(api):
    secret = invite(api)

    for method, path in (("GET", "agents"), ("POST", "agents"), ("GET", "me")):
        refused = Api(secret)(method, path, AGENT if method == "POST" else None)
        assert (refused.status_code, "agents:join" in refused.json()["detail"]) == (401, True)
    for other in (token_for("admin"), ""):
        assert Api(other).post("agents:join", AGENT).status_code == 401
    assert Api(token_for("editor")).post("join-tokens", INVITATION).status_code == 403


def test_a_taken_name_is_409_unless_the_token_may_take_over(api):
    first = joined(api)
    agent_id = first["agent"]["agent_id"]

    refused = Api(invite(api)).post("agents:join", AGENT)
    assert (refused.status_code, refused.json()["code"]) == (409, "name_taken")
    assert beat(first["token"], agent_id).status_code == 200
    (audit_record,) = AuditRecord.objects.filter(action="join_token.refused")
    assert (audit_record.actor, "replaced" in audit_record.reason) == (
        f"join token {INVITATION['name']}",
        True,
    )

    second = Api(invite(api, may_take_over=True)).post("agents:join", AGENT)
    assert (second.status_code, second.json()["agent"]["agent_id"]) == (200, agent_id)
    assert second.json()["agent"]["generation"] == 2
    assert beat(first["token"], agent_id).status_code == 401
    assert beat(second.json()["token"], agent_id).status_code == 200
    assert AuditRecord.objects.filter(action="agent.rotated").exists()


def test_nobody_else_registers_under_the_name_of_an_agent_that_joined(api):
    joined(api)

    stranger = Api(token_for("agent")).post("agents", AGENT)

    assert (stranger.status_code, stranger.json()["code"]) == (409, "name_taken")


def test_rotation_ends_the_former_token(api):
    joined_body = joined(api)
    agent_id, token = joined_body["agent"]["agent_id"], joined_body["token"]
    assert Api(token_for("agent")).post(f"agents/{agent_id}:rotate").status_code == 403

    own = Api(token).post(f"agents/{agent_id}:rotate").json()["token"]
    assert beat(token, agent_id).status_code == 401
    assert beat(own, agent_id).status_code == 200
    operators = api.post(f"agents/{agent_id}:rotate").json()["token"]
    assert beat(own, agent_id).status_code == 401
    assert beat(operators, agent_id).status_code == 200

    shared = (
        Api(token_for("agent")).post("agents", {**AGENT, "name": "b", "topic_name": "dcm.agent.b"}).json()
    )
    assert api.post(f"agents/{shared['agent_id']}:rotate").status_code == 409
    assert api.post("agents/019a9f5e-7c00-7000-8000-000000000031:rotate").status_code == 404


def test_an_agent_that_waits_for_approval_beats_and_is_not_ready(api):
    body = Api(invite(api, needs_approval=True)).post("agents:join", AGENT).json()
    agent_id, token = body["agent"]["agent_id"], body["token"]
    assert body["agent"]["health_status"] == "registered"

    assert beat(token, agent_id).json()["directives"] == ["wait"]
    assert Api(token).post("agents", AGENT).json()["health_status"] == "registered"
    assert Api(token).post(f"agents/{agent_id}:approve").status_code == 403

    approved = api.post(f"agents/{agent_id}:approve?change_message=Known+to+us")
    assert (approved.json()["health_status"], approved.json()["state_reason"]) == ("ready", "Known to us")
    assert api.post(f"agents/{agent_id}:approve").status_code == 409


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"uses": 0}, "/uses"),
        ({"expires_in_seconds": 5}, "/expires_in_seconds"),
        ({"name_pattern": ""}, "/name_pattern"),
        ({"service_types": [""]}, "/service_types/0"),
        ({"unknown": 1}, "/unknown"),
    ],
)
def test_a_bad_join_token_is_not_made(api, body, pointer):
    refused = api.post("join-tokens", {**INVITATION, **body})

    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, pointer)
    assert not JoinToken.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_two_joins_that_meet_cannot_both_have_the_last_use():
    secret = invite(Api(token_for("admin")), uses=1)

    def attempt(number: int) -> int:
        try:
            body = {**AGENT, "name": f"a{number}", "topic_name": f"dcm.agent.a{number}"}
            return Api(secret).post("agents:join", body).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        answers = sorted(pool.map(attempt, range(8)))

    assert answers == [201, *[401] * 7]
    assert Agent.objects.count() == 1
    assert Token.objects.filter(principal__name__startswith="agent.").count() == 1


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"name": "a2", "topic_name": "dcm.agent.a2"}, 403),
        ({"environment": "elsewhere"}, 400),
        ({"service_types": ["vm", "gpu"]}, 400),
    ],
)
def test_an_agents_own_token_serves_for_no_more_than_it_was_let_in_for(api, body, status):
    registration = {**AGENT, "environment": "prod", "service_types": ["vm"]}
    own = Api(
        Api(invite(api, environment="prod", service_types=["vm"]))
        .post("agents:join", registration)
        .json()["token"]
    )

    assert own.post("agents", {**registration, **body}).status_code == status
    assert own.post("agents", {**registration, "capacity": 3}).status_code == 200
    assert Agent.objects.values_list("name", "environment", "service_types").get() == ("a1", "prod", ["vm"])


def test_who_was_removed_does_not_come_back_as_somebody_else(api):
    joined_body = joined(api)
    api.delete(f"agents/{joined_body['agent']['agent_id']}?force=true")

    refused = Api(joined_body["token"]).post("agents", {**AGENT, "name": "a2"})

    assert (refused.status_code, AGENT["name"] in refused.json()["detail"]) == (403, True)
    assert Api(joined_body["token"]).post("agents", AGENT).status_code == 201


@pytest.mark.parametrize("removed", [False, True])
def test_neither_a_goodbye_nor_a_removal_stands_for_an_approval(api, removed):
    body = Api(invite(api, needs_approval=True)).post("agents:join", AGENT).json()
    agent_id, own = body["agent"]["agent_id"], Api(body["token"])
    assert own.post(f"agents/{agent_id}:deregister").status_code == 200
    if removed:
        assert api.delete(f"agents/{agent_id}").status_code == 204

    again = own.post("agents", AGENT).json()
    assert again["health_status"] == "registered"

    assert api.post(f"agents/{again['agent_id']}:approve").json()["health_status"] == "ready"
    own.post(f"agents/{again['agent_id']}:deregister")
    assert own.post("agents", AGENT).json()["health_status"] == "ready"


def test_who_takes_a_name_over_may_need_an_approval_too(api):
    joined(api)
    body = Api(invite(api, needs_approval=True, may_take_over=True)).post("agents:join", AGENT).json()
    own = Api(body["token"])

    own.post(f"agents/{body['agent']['agent_id']}:deregister")

    assert own.post("agents", AGENT).json()["health_status"] == "registered"


def test_who_was_sent_away_gets_no_new_token(api):
    agent_id = joined(api)["agent"]["agent_id"]
    api.post(f"agents/{agent_id}:retire")

    refused = api.post(f"agents/{agent_id}:rotate")

    assert (refused.status_code, "join again" in refused.json()["detail"]) == (409, True)
