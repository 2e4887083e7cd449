"""Doors to agents: register, beat, look."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.access.roles import Action
from controlplane.api.endpoints import Endpoint, actor_of, caller_of, mutation
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.errors import UnknownAgent
from registry.agents.api import serializers as shapes
from registry.agents.policies import liveness_policy
from registry.agents.registering import register
from registry.agents.registration import Cost, Registration
from registry.models import Agent
from registry.providers.health import Health
from registry.task_types.names import TaskType

_WHEN = "2026-11-21T09:30:00Z"
_REGISTRATION = {
    "name": "prod-eu-1",
    "environment": "prod-eu-west-1",
    "service_types": ["vm", "container"],
    "cost": "medium",
    "topic_name": "dcm.agent.prod-eu-1",
    "resources_available": {
        "total_cpu": 200,
        "total_memory": "1TB",
        "total_storage": "2TB",
        "total_node": 100,
    },
    "task_types": [{"name": "spark", "version": "v1"}],
}
_AGENT = {
    "agent_id": "019a9f5e-7c00-7000-8000-000000000031",
    **_REGISTRATION,
    "advertised_service_types": ["vm", "container"],
    "service_type_conditions": [
        {
            "service_type": "vm",
            "status": "ready",
            "provider": "kubevirt",
            "reason": "The agent says: ready.",
            "since": _WHEN,
        }
    ],
    "state_reason": "It beats.",
    "state_since": _WHEN,
    "health_status": "ready",
    "late": False,
    "last_heartbeat": _WHEN,
    "lease_expires_at": "2026-11-21T09:31:30Z",
    "consumer_lag": 0,
    "clock_skew_ms": -12,
    "heartbeat_interval": 30,
    "next_heartbeat_in_seconds": 27.4,
    "generation": 1,
    "configuration_etag": "",
    "conditions": [],
    "versions": {"agent": "1.4.2"},
    "providers": [{"name": "kubevirt", "service_type": "vm", "status": "ready"}],
    "create_time": _WHEN,
    "update_time": _WHEN,
}
_EXAMPLE = OpenApiExample("An agent", value=_AGENT, response_only=True, status_codes=["200", "201"])


class AgentCollection(Endpoint):
    actions = {"GET": Action.AGENT_READ, "POST": Action.AGENT_REGISTER}

    @extend_schema(
        operation_id="agents_list",
        summary="List agents and whether they are alive",
        tags=["agents"],
        parameters=[shapes.AgentListQuery],
        responses=shapes.AgentPage,
        examples=[
            OpenApiExample("A page", value={"items": [_AGENT], "next_cursor": None}, response_only=True)
        ],
    )
    def get(self, request: Request) -> Response:
        query = shapes.AgentListQuery.parse(request)
        rows = Agent.objects.shown()
        if "health_status" in query:
            rows = rows.filter(state=query["health_status"])
        if "environment" in query:
            rows = rows.filter(environment=query["environment"])
        if "service_type" in query:
            withheld = {"service_type": query["service_type"], "status": Health.UNAVAILABLE.value}
            rows = rows.filter(service_types__contains=[query["service_type"]])
            rows = rows.exclude(service_type_conditions__contains=[withheld])
        policy = liveness_policy()
        page = paginate(request, rows, order=("name",), query=query)
        return page_response(request, page, lambda agent: shapes.show_agent(agent, policy))

    @extend_schema(
        operation_id="agents_register",
        summary="Register an agent, or register it again",
        description="201 for a new name, 200 for a known one. The agent is ready, and its lease begins.",
        tags=["agents"],
        parameters=[shapes.RegistrationQuery],
        request=shapes.RegistrationWrite,
        responses={200: shapes.AgentRead, 201: shapes.AgentRead},
        examples=[OpenApiExample("An agent", value=_REGISTRATION, request_only=True), _EXAMPLE],
    )
    @mutation
    def post(self, request: Request) -> Response:
        shapes.RegistrationQuery.parse(request)
        said = parse_body(shapes.RegistrationWrite, request)
        resources = said["resources_available"]
        registration = Registration(
            name=said["name"],
            environment=said["environment"],
            service_types=tuple(dict.fromkeys(said["service_types"])),
            cost=Cost(said["cost"]),
            topic_name=said["topic_name"],
            resources_available=None if resources is None else dict(resources),
            task_types=tuple(TaskType(**one) for one in said.get("task_types", ())),
        )
        policy = liveness_policy()
        agent, created = register(
            registration, actor=actor_of(request), any_agent=_any_agent(request), policy=policy
        )
        location = {"Location": f"{request.path}/{agent.id}"}
        return Response(shapes.show_agent(agent, policy), status=201 if created else 200, headers=location)


class AgentItem(Endpoint):
    actions = {"GET": Action.AGENT_READ}

    @extend_schema(
        operation_id="agents_get",
        summary="Read one agent",
        tags=["agents"],
        responses=shapes.AgentRead,
        examples=[_EXAMPLE],
    )
    def get(self, request: Request, agent_id: UUID) -> Response:
        Query.parse(request)
        agent = Agent.objects.shown().filter(id=agent_id).first()
        if agent is None:
            raise UnknownAgent(f"There is no agent {agent_id}.")
        return Response(shapes.show_agent(agent, liveness_policy()))


def _any_agent(request: Request) -> bool:
    return caller_of(request).verdict(Action.AGENT_WRITE).allowed
