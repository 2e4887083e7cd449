"""HTTP endpoints for the lifecycle of agents, and for counts of the fleet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.fields import Query, StrictSerializer, Text, parse_body
from controlplane.identity.roles import Action
from registry import lifecycle
from registry.agents.lookup import lock_agent, lock_own_agent
from registry.agents.models import Agent
from registry.agents.policies import liveness_policy
from registry.agents.states import State
from registry.api.agents import examples, schemas
from registry.listing import counts
from registry.ownership import transfer

View = TypeVar("View", bound=Callable[..., Any])
_SUMMARY = {
    "total": 3,
    "states": {"ready": 2, "unavailable": 1},
    "environments": [{"environment": "prod-eu-west-1", "total": 3, "states": {"ready": 2, "unavailable": 1}}],
}


class DrainWrite(StrictSerializer):
    reason = Text(max_length=255, help_text="Shown with the agent's state.")
    until = serializers.DateTimeField(
        required=False, allow_null=True, default=None, help_text="When the drain ends automatically."
    )


class EnvironmentSummary(serializers.Serializer[Any]):
    environment = serializers.CharField()
    total = serializers.IntegerField(help_text="Without retired agents.")
    states = serializers.DictField(child=serializers.IntegerField())


class FleetSummaryRead(serializers.Serializer[Any]):
    total = serializers.IntegerField(help_text="Without retired agents.")
    states = serializers.DictField(child=serializers.IntegerField(), help_text="Agents by state.")
    environments = EnvironmentSummary(many=True)


def _document(operation: str, summary: str, description: str, **options: Any) -> Callable[[View], View]:
    decorator: Callable[[View], View] = extend_schema(
        operation_id=f"agents_{operation}",
        summary=summary,
        description=description,
        tags=["agents"],
        responses=schemas.AgentRead,
        **{"request": None, "examples": [examples.AGENT_READ], "parameters": [ReasonedQuery], **options},
    )
    return decorator


class AgentApproval(Endpoint):
    actions = {"POST": Action.AGENT_WRITE}

    @_document(
        "approve",
        "Approve an agent",
        "For an agent that joined with a token that requires approval. The agent can take work afterwards.",
    )
    @mutation
    def post(self, request: Request, agent_id: UUID) -> Response:
        return _response(lifecycle.approve(_writable(request, agent_id), actor=_actor(request)))


class AgentDrain(Endpoint):
    actions = {"POST": Action.AGENT_HEARTBEAT}

    @_document(
        "drain",
        "Drain an agent",
        "Called by the agent or by an operator. The agent finishes its work and gets no more; a restart "
        "does not end the drain.",
        request=DrainWrite,
        examples=[
            OpenApiExample(
                "Drain for a kernel update", value={"reason": "Kernel update."}, request_only=True
            ),
            examples.AGENT_READ,
        ],
    )
    @mutation
    def post(self, request: Request, agent_id: UUID) -> Response:
        lock_own_agent(caller_of(request), agent_id)
        actor, body = _actor(request), parse_body(DrainWrite, request)
        return _response(lifecycle.drain(agent_id, reason=body["reason"], until=body["until"], actor=actor))


class AgentResumption(Endpoint):
    actions = {"POST": Action.AGENT_HEARTBEAT}

    @_document(
        "resume", "End the drain of an agent", "Resuming an agent that is not draining changes nothing."
    )
    @mutation
    def post(self, request: Request, agent_id: UUID) -> Response:
        lock_own_agent(caller_of(request), agent_id)
        return _response(lifecycle.resume(agent_id, actor=_actor(request)))


class AgentDeregistration(Endpoint):
    actions = {"POST": Action.AGENT_HEARTBEAT}
    problems = {"POST": (errors.StillInUse,)}

    @_document(
        "deregister",
        "Deregister an agent",
        "Called by the agent itself when it stops, or by an operator. The agent can register again later. "
        "While it has resources: 409 `still_in_use`, unless `force=true`.",
        parameters=[schemas.DeregistrationQuery],
    )
    @mutation
    def post(self, request: Request, agent_id: UUID) -> Response:
        query = schemas.DeregistrationQuery.parse(request)
        lock_own_agent(caller_of(request), agent_id)
        actor = actor_of(request, query["change_message"])
        return _response(lifecycle.deregister(agent_id, force=query["force"], actor=actor))


class AgentRetirement(Endpoint):
    actions = {"POST": Action.AGENT_WRITE}

    @_document("retire", "Retire an agent", "Revokes the agent's own token. To return, it must join again.")
    @mutation
    def post(self, request: Request, agent_id: UUID) -> Response:
        return _response(lifecycle.retire(_writable(request, agent_id), actor=_actor(request)))


class AgentTransfer(Endpoint):
    actions = {"POST": Action.AGENT_WRITE}
    problems = {"POST": (errors.UnknownTeam, errors.StillInUse)}

    @_document(
        "transfer",
        "Transfer an agent to another owner",
        "The new owner is a team or the platform. Requires `agent.write` for the agents of both. The agent's "
        "own token stays valid.",
        request=schemas.AgentTransferWrite,
        examples=[
            OpenApiExample("To a team", value={"team": "ml"}, request_only=True),
            examples.AGENT_READ,
        ],
    )
    @mutation
    def post(self, request: Request, agent_id: UUID) -> Response:
        body = parse_body(schemas.AgentTransferWrite, request)
        agent = transfer(agent_id, body["team"], caller=caller_of(request), actor=_actor(request))
        return _response(agent)


class FleetSummary(Endpoint):
    actions = {"GET": Action.AGENT_READ}

    @extend_schema(
        operation_id="agents_summary",
        summary="Count agents by environment and state",
        description="Counts are maintained incrementally, so the cost does not depend on the fleet size.",
        tags=["agents"],
        responses=FleetSummaryRead,
        examples=[OpenApiExample("A small fleet", value=_SUMMARY, response_only=True)],
    )
    def get(self, request: Request) -> Response:
        Query.parse(request)
        by_environment = counts.agent_counts(caller_of(request))
        environments = [
            {"environment": name, **_show_counts(states)} for name, states in by_environment.items()
        ]
        return Response({**_show_counts(counts.total(by_environment)), "environments": environments})


def _show_counts(states: dict[State, int]) -> dict[str, Any]:
    present = {state.value: count for state, count in states.items() if count}
    return {"total": sum(present.values()) - present.get(State.RETIRED, 0), "states": present}


def _actor(request: Request) -> Any:
    return actor_of(request, ReasonedQuery.parse(request)["change_message"])


def _writable(request: Request, agent_id: UUID) -> UUID:
    return lock_agent(caller_of(request), agent_id, Action.AGENT_WRITE).id


def _response(agent: Agent) -> Response:
    return Response(schemas.show_agent(agent, liveness_policy()))
