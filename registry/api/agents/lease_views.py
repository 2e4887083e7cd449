"""HTTP endpoints for the lease durations of agents and environments."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.fields import StrictSerializer, Text, Whole, parse_body
from controlplane.identity.roles import Action
from registry.agents.lookup import lock_agent
from registry.agents.policies import liveness_policy
from registry.api.agents import examples, schemas
from registry.environments.lease_terms import set_agent_lease, set_environment_lease

_SECONDS = "From three heartbeat intervals to one day. null removes the setting."


class AgentLeaseWrite(StrictSerializer):
    lease_seconds = Whole(allow_null=True, help_text=_SECONDS)


class EnvironmentLeaseWrite(AgentLeaseWrite):
    environment = Text(
        max_length=255, help_text="The name that agents register with. Agents need not exist yet."
    )


class EnvironmentLeaseRead(serializers.Serializer[Any]):
    environment = serializers.CharField()
    lease_seconds = serializers.IntegerField(allow_null=True)


class AgentLease(Endpoint):
    actions = {"POST": Action.AGENT_WRITE}

    @extend_schema(
        operation_id="agents_set_lease",
        summary="Set the lease of an agent",
        description=(
            "How long the agent counts as alive after a heartbeat. Takes precedence over the lease of its "
            "environment. Agents with a fixed interval of their own need at least three of those. A longer "
            "lease applies immediately, a shorter one from the next heartbeat."
        ),
        tags=["agents"],
        parameters=[ReasonedQuery],
        request=AgentLeaseWrite,
        responses=schemas.AgentRead,
        examples=[
            OpenApiExample("Heartbeats every ten minutes", value={"lease_seconds": 1800}, request_only=True),
            examples.AGENT_READ,
        ],
    )
    @mutation
    def post(self, request: Request, agent_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        body = parse_body(AgentLeaseWrite, request)
        policy = liveness_policy()
        actor = actor_of(request, query["change_message"])
        lock_agent(caller_of(request), agent_id, Action.AGENT_WRITE)
        agent = set_agent_lease(agent_id, body["lease_seconds"], actor=actor, policy=policy)
        return Response(schemas.show_agent(agent, policy))


class EnvironmentLease(Endpoint):
    actions = {"POST": Action.AGENT_WRITE}

    @extend_schema(
        operation_id="agents_set_environment_lease",
        summary="Set the lease of an environment's agents",
        description="For agents without a lease of their own. `GET /api/v1/fleet-guards` lists the leases.",
        tags=["agents"],
        parameters=[ReasonedQuery],
        request=EnvironmentLeaseWrite,
        responses=EnvironmentLeaseRead,
        examples=[
            OpenApiExample("Lease of an edge site", value={"environment": "edge", "lease_seconds": 1800}),
        ],
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ReasonedQuery.parse(request)
        body = parse_body(EnvironmentLeaseWrite, request)
        # An environment may have agents of several teams.
        caller_of(request).require(Action.AGENT_WRITE)
        environment = set_environment_lease(
            body["environment"],
            body["lease_seconds"],
            actor=actor_of(request, query["change_message"]),
            policy=liveness_policy(),
        )
        return Response({"environment": environment.name, "lease_seconds": environment.lease_seconds})
