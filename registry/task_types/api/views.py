"""Doors to task types: which there are, and which agents serve one."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Q
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.access.roles import Action
from controlplane.api.endpoints import Endpoint
from controlplane.api.pages import PageQuery, page_response, paginate
from controlplane.errors import UnknownTaskType
from registry.agents.states import LIVE, State
from registry.models import ServedTaskType
from registry.task_types.names import NAME

_STATES = [(one.value, one.value) for one in State]
_LISTED = {"name": "spark", "versions": ["v1", "v2"], "agents": 3, "live_agents": 2}
_SERVED = {
    "agent_id": "019a9f5e-7c00-7000-8000-000000000031",
    "agent": "prod-eu-1",
    "environment": "prod-eu-west-1",
    "version": "v1",
    "health_status": "ready",
    "since": "2026-11-21T09:30:00Z",
}


class TaskTypeRead(serializers.Serializer[Any]):
    name = serializers.CharField()
    versions = serializers.ListField(child=serializers.CharField(allow_blank=True))
    agents = serializers.IntegerField(help_text="That serve any version of it.")
    live_agents = serializers.IntegerField(help_text="Among them, those that are ready or congested.")


class TaskTypePage(serializers.Serializer[Any]):
    items = TaskTypeRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ServingAgentRead(serializers.Serializer[Any]):
    agent_id = serializers.UUIDField()
    agent = serializers.CharField()
    environment = serializers.CharField()
    version = serializers.CharField(allow_blank=True, help_text="Empty if the agent told none.")
    health_status = serializers.ChoiceField(choices=_STATES)
    since = serializers.DateTimeField(help_text="Since when it has said so, without a break.")


class ServingAgentPage(serializers.Serializer[Any]):
    name = serializers.CharField()
    items = ServingAgentRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ServingAgentQuery(PageQuery):
    version = serializers.CharField(required=False, help_text="Only those that serve this version.")


class TaskTypes(Endpoint):
    actions = {"GET": Action.AGENT_READ}

    @extend_schema(
        operation_id="task_types_list",
        summary="List the task types that agents serve",
        tags=["agents"],
        parameters=[PageQuery],
        responses=TaskTypePage,
        examples=[
            OpenApiExample("A page", value={"items": [_LISTED], "next_cursor": None}, response_only=True)
        ],
    )
    def get(self, request: Request) -> Response:
        query = PageQuery.parse(request)
        page = paginate(request, ServedTaskType.objects.distinct("name"), order=("name",), query=query)
        counted = _counted([one.name for one in page.items])
        return page_response(request, page, lambda one: counted[one.name])


class TaskTypeItem(Endpoint):
    actions = {"GET": Action.AGENT_READ}

    @extend_schema(
        operation_id="task_types_get",
        summary="Which agents serve a task type, in what state, and since when",
        tags=["agents"],
        parameters=[ServingAgentQuery],
        responses=ServingAgentPage,
        examples=[
            OpenApiExample(
                "A page",
                value={"name": "spark", "items": [_SERVED], "next_cursor": None},
                response_only=True,
            )
        ],
    )
    def get(self, request: Request, name: str) -> Response:
        query = ServingAgentQuery.parse(request)
        rows = ServedTaskType.objects.filter(name=name).select_related("agent")
        if not NAME.fullmatch(name) or not rows.exists():
            raise UnknownTaskType(f"No agent serves the task type {name[:128]!r}.")
        if "version" in query:
            rows = rows.filter(version=query["version"])
        page = paginate(request, rows, order=("version", "id"), query=query)
        response = page_response(request, page, _show)
        response.data = {"name": name, **response.data}
        return response


def _counted(names: list[str]) -> dict[str, dict[str, Any]]:
    live = Q(agent__state__in=[state.value for state in LIVE])
    rows = ServedTaskType.objects.filter(name__in=names).values("name")
    counts = rows.annotate(
        agents=Count("agent", distinct=True), live_agents=Count("agent", distinct=True, filter=live)
    )
    found: dict[str, dict[str, Any]] = {
        row["name"]: {"name": row["name"], "versions": [], **row} for row in counts
    }
    versions = ServedTaskType.objects.filter(name__in=names).values_list("name", "version").distinct()
    for name, version in versions.order_by("name", "version"):
        found[name]["versions"].append(version)
    return found


def _show(one: ServedTaskType) -> dict[str, Any]:
    return {
        "agent_id": str(one.agent_id),
        "agent": one.agent.name,
        "environment": one.agent.environment,
        "version": one.version,
        "health_status": one.agent.state,
        "since": one.since,
    }
