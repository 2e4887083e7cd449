"""HTTP endpoints for an agent's login at NATS."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.identity.roles import Action
from registry.agents.lookup import lock_own_agent
from registry.agents.models import Agent
from registry.dispatch.nats_logins.decide import REQUESTS, inbox_prefix, response_subject
from registry.dispatch.nats_logins.issue import agent_url, issue_login, revoke_login, usable_consumers

_ID = "019a9f5e-7c00-7000-8000-000000000001"
_LOGIN = {
    "url": "nats://nats.example.com:4222",
    "user": _ID,
    "password": "cp_nat_9xQb...",
    "inbox_prefix": f"_INBOX_{_ID}",
    "response_subject": f"dcm.agents.{_ID}.responses",
    "stream": REQUESTS,
    "consumer": "prod-eu-1-consumer",
    "cancel_consumer": "prod-eu-1-cancel-consumer",
}


class NatsLoginRead(serializers.Serializer[Any]):
    url = serializers.CharField(help_text="Address of NATS, without user and password.")
    user = serializers.CharField(help_text="The agent's id.")
    password = serializers.CharField(allow_null=True, help_text="Shown once.")
    inbox_prefix = serializers.CharField(
        help_text="Set it as the client's inbox prefix: the agent can subscribe to no other subject."
    )
    response_subject = serializers.CharField(
        help_text="Send all answers, statuses of resources and reports of providers to this subject. No"
        " other agent can."
    )
    stream = serializers.CharField(help_text="The stream of all requests.")
    consumer = serializers.CharField(
        help_text="Fetch the agent's requests with this consumer, which exists once the agent is connected."
    )
    cancel_consumer = serializers.CharField(help_text="Fetch cancellations with this consumer.")


class NatsLoginIssue(Endpoint):
    actions = {"POST": Action.AGENT_HEARTBEAT}
    problems = {"POST": (errors.Conflict,)}

    @extend_schema(
        operation_id="agents_issue_nats_login",
        summary="Issue a login at NATS to an agent",
        description=(
            "Replaces the former password: connections made with it end within seconds. Agents can do this"
            " for themselves, operators for any agent. NATS accepts the login once the agent is approved. 409"
            " if the installation has no logins at NATS, or if the agent is retired."
        ),
        tags=["agents"],
        parameters=[ReasonedQuery],
        request=None,
        responses={201: NatsLoginRead},
        examples=[OpenApiExample("A login", value=_LOGIN, response_only=True, status_codes=["201"])],
    )
    @mutation
    def post(self, request: Request, agent_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        agent = lock_own_agent(caller_of(request), agent_id)
        password = issue_login(agent, actor=actor_of(request, query["change_message"]))
        body = {**_show_login(agent), "password": password}
        response = Response(body, status=201)
        response.replayed_body = {**body, "password": None}  # type: ignore[attr-defined]  # endpoints.py
        return response


class NatsLoginItem(Endpoint):
    actions = {"DELETE": Action.AGENT_HEARTBEAT}

    @extend_schema(
        operation_id="agents_revoke_nats_login",
        summary="Revoke the login at NATS of an agent",
        description="Connections made with it end within seconds. Without a login, nothing changes.",
        tags=["agents"],
        parameters=[ReasonedQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, agent_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        agent = lock_own_agent(caller_of(request), agent_id)
        revoke_login(agent, actor=actor_of(request, query["change_message"]))
        return Response(status=204)


def _show_login(agent: Agent) -> dict[str, Any]:
    consumers = usable_consumers(agent)
    return {
        "url": agent_url(),
        "user": str(agent.id),
        "inbox_prefix": inbox_prefix(agent.id),
        "response_subject": response_subject(agent.id),
        "stream": REQUESTS,
        "consumer": consumers.requests,
        "cancel_consumer": consumers.cancels,
    }
