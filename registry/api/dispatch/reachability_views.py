"""HTTP endpoint of the reachability test of an agent."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, caller_of
from controlplane.api.fields import Instant, Query
from controlplane.identity.roles import Action
from registry.agents.lookup import get_agent
from registry.dispatch.delivery.reachability import Reachability, Verdict, Way
from registry.dispatch.delivery.reachability_facts import check_reachability

VERDICTS = [verdict.value for verdict in Verdict]
WAYS = [way.value for way in Way]
_HEARTBEATS = {
    "name": "heartbeats",
    "status": "reachable",
    "message": "Heartbeats arrive.",
    "at": "2026-11-02T08:00:04Z",
}
_REACHABLE = {
    "status": "reachable",
    "message": "Heartbeats arrive. The agent waits for requests in NATS.",
    "finished": True,
    "tested_at": "2026-11-02T08:00:06Z",
    "checks": [
        _HEARTBEATS,
        {
            "name": "requests",
            "status": "reachable",
            "message": "The agent waits for requests in NATS.",
            "at": "2026-11-02T08:00:06Z",
        },
    ],
}
_NO_CONSUMER = (
    "The agent has no consumer in NATS, and fetches nothing by HTTPS, so it gets no requests."
    " Check its connection to NATS."
)
_UNREACHABLE = {
    "status": "unreachable",
    "message": _NO_CONSUMER,
    "finished": True,
    "tested_at": "2026-11-02T08:00:06Z",
    "checks": [
        _HEARTBEATS,
        {
            "name": "requests",
            "status": "unreachable",
            "message": _NO_CONSUMER,
            "at": "2026-11-02T08:00:06Z",
        },
    ],
}


class ReachabilityQuery(Query):
    since = Instant(
        required=False,
        default=None,
        help_text="Begin of the test: only what happened since then counts. Send `tested_at` of the first"
        " response, and repeat until `finished`. Default: what is known at present counts.",
    )


class ReachabilityCheckRead(serializers.Serializer[Any]):
    name = serializers.ChoiceField(
        choices=WAYS,
        help_text="`heartbeats`: from the agent to the control plane. `requests`: from the control plane to"
        " the agent; only for agents with service types.",
    )
    status = serializers.ChoiceField(choices=VERDICTS, help_text="Outcome of this check.")
    message = serializers.CharField(help_text="What was measured, and what to do next.")
    at = serializers.DateTimeField(
        allow_null=True, help_text="The last heartbeat, the last fetch, or when NATS was asked."
    )


class ReachabilityRead(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=VERDICTS, help_text="The worst outcome of the checks.")
    message = serializers.CharField(help_text="The sentence of the check that decided.")
    finished = serializers.BooleanField(help_text="False: a heartbeat or fetch that is due may still decide.")
    tested_at = serializers.DateTimeField(help_text="Time of the test, by the database’s clock.")
    checks = ReachabilityCheckRead(many=True)


class AgentReachability(Endpoint):
    actions = {"GET": Action.AGENT_READ}
    problems = {"GET": (errors.UnknownAgent,)}

    @extend_schema(
        operation_id="agents_reachability",
        summary="Test whether an agent can be reached",
        description=(
            "Heartbeats show that the agent reaches the control plane. For the way back, NATS is asked"
            " whether the agent waits for requests; of agents that fetch requests by HTTPS, the last fetch"
            " counts. Nothing is sent to the agent. A status of `unknown` means that the test could not"
            " decide, for example because NATS does not answer."
        ),
        tags=["agents"],
        parameters=[ReachabilityQuery],
        responses=ReachabilityRead,
        examples=[
            OpenApiExample("Reachable", value=_REACHABLE, response_only=True),
            OpenApiExample("Alive, but without requests", value=_UNREACHABLE, response_only=True),
        ],
    )
    def get(self, request: Request, agent_id: UUID) -> Response:
        query = ReachabilityQuery.parse(request)
        agent = get_agent(caller_of(request), agent_id)
        return Response(_show(check_reachability(agent, since=query["since"])))


def _show(reachability: Reachability) -> dict[str, Any]:
    checks = [
        {"name": check.way.value, "status": check.verdict.value, "message": check.message, "at": check.at}
        for check in reachability.checks
    ]
    return {
        "status": reachability.verdict.value,
        "message": reachability.message,
        "finished": reachability.is_finished,
        "tested_at": reachability.tested_at,
        "checks": checks,
    }
