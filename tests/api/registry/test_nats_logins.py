"""Logins at NATS through HTTP: issued once, to whom, recorded, revoked."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.access.models import AuditRecord
from registry.agents.models import Agent
from registry.dispatch.nats_logins.models import NatsLogin
from tests.support.api_client import AGENT, Api, token_for


@pytest.fixture
def agent_id(api: Api) -> str:
    return str(api.post("agents", AGENT).json()["agent_id"])


def issue(api: Api, agent_id: str, **headers: str) -> Any:
    return api.post(f"agents/{agent_id}:issue-nats-login", **headers)


def test_a_login_is_shown_once_and_replaced(api: Api, agent_id: str, settings: Any) -> None:
    settings.NATS_AGENT_URL = "tls://nats.example.com:4222"
    first = issue(api, agent_id, Idempotency_Key="k1")
    body = first.json()
    assert first.status_code == 201, body
    assert body["password"].startswith("cp_nat_")
    assert (body["user"], body["url"]) == (agent_id, "tls://nats.example.com:4222")
    assert (body["consumer"], body["cancel_consumer"]) == ("a1-consumer", "a1-cancel-consumer")
    assert body["response_subject"] == f"dcm.agents.{agent_id}.responses"
    assert issue(api, agent_id, Idempotency_Key="k1").json() == {**body, "password": None}

    serial = NatsLogin.objects.get().serial
    again = issue(api, agent_id).json()["password"]
    assert again != body["password"]
    assert NatsLogin.objects.get().serial != serial
    pages = str([api.get(path).json() for path in ("audit", "events", "agents")])
    assert body["password"] not in pages
    assert again not in pages
    actions = AuditRecord.objects.filter(object_id=agent_id).values_list("action", flat=True)
    assert list(actions).count("agent.nats_login_issued") == 2


def test_a_login_is_revoked_once(api: Api, agent_id: str) -> None:
    issue(api, agent_id)
    for _ in range(2):
        assert api.delete(f"agents/{agent_id}/nats-login").status_code == 204
    assert not NatsLogin.objects.exists()
    assert AuditRecord.objects.filter(action="agent.nats_login_revoked").count() == 1


def test_an_agent_issues_its_own_login_and_no_other(api: Api, agent_id: str) -> None:
    invitation = api.post("join-tokens", {"name": "t", "name_pattern": "b*"}).json()["token"]
    joined = Api(invitation).post("agents:join", {**AGENT, "name": "b1", "topic_name": "dcm.agent.b1"}).json()
    own = Api(joined["token"])
    assert issue(own, joined["agent"]["agent_id"]).status_code == 201
    assert issue(own, agent_id).status_code == 403
    assert own.delete(f"agents/{agent_id}/nats-login").status_code == 403
    assert issue(Api(token_for("viewer")), agent_id).status_code == 403
    assert NatsLogin.objects.count() == 1


def test_a_dry_run_issues_nothing(api: Api, agent_id: str) -> None:
    assert api.post(f"agents/{agent_id}:issue-nats-login?dry_run=true").status_code == 201
    assert not NatsLogin.objects.exists()


def test_why_there_is_no_login(api: Api, agent_id: str, settings: Any) -> None:
    Agent.objects.update(topic_name="dcm.agent.a-cancel")
    refusal = issue(api, agent_id)
    assert (refusal.status_code, "-cancel" in refusal.json()["detail"]) == (409, True)
    Agent.objects.update(state="retired", topic_name="dcm.agent.a")
    assert "retired" in issue(api, agent_id).json()["detail"]
    settings.NATS_ISSUER_SEED = ""
    refusal = issue(api, agent_id)
    assert (refusal.status_code, "NATS_ISSUER_SEED" in refusal.json()["detail"]) == (409, True)
