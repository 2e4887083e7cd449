"""Doors to task types: which there are, who publishes one, and which agents serve it."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Q
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.access.roles import Action
from controlplane.api.endpoints import Endpoint, caller_of
from controlplane.api.pages import PageQuery, page_response, paginate
from controlplane.errors import UnknownTaskType
from registry.agents.states import LIVE
from registry.models import ServedTaskType
from registry.task_types import published
from registry.task_types.api import examples, shapes
from registry.task_types.names import NAME


class TaskTypes(Endpoint):
    actions = {"GET": Action.AGENT_READ}

    @extend_schema(
        operation_id="task_types_list",
        summary="List the task types that agents serve, or teams publish",
        tags=["agents"],
        parameters=[PageQuery],
        responses=shapes.TaskTypePage,
        examples=examples.TASK_TYPES,
    )
    def get(self, request: Request) -> Response:
        query, caller = PageQuery.parse(request), caller_of(request)
        page = paginate(request, published.names_seen_by(caller), order=("name",), query=query)
        names = [one.name for one in page.items]
        counted, owners = _counted(names), published.owners(names, caller)
        nobody: dict[str, Any] = {"teams": [], "data_planes": 0}
        return page_response(request, page, lambda one: {**counted[one.name], **owners.get(one.name, nobody)})


class TaskTypeItem(Endpoint):
    actions = {"GET": Action.AGENT_READ}

    @extend_schema(
        operation_id="task_types_get",
        summary="Who has a task type in each data plane, who lost it and why, and which agents serve it",
        tags=["agents"],
        parameters=[shapes.TaskTypeQuery],
        responses=shapes.TaskTypeDetail,
        examples=examples.TASK_TYPE,
    )
    def get(self, request: Request, name: str) -> Response:
        query, caller = shapes.TaskTypeQuery.parse(request), caller_of(request)
        is_legal = NAME.fullmatch(name) is not None
        found = published.publications(name, caller) if is_legal else []
        rows = ServedTaskType.objects.filter(name=name).select_related("agent")
        if not found and not (is_legal and rows.exists()):
            message = f"Nobody serves or publishes the task type {name[:128]!r}."
            raise UnknownTaskType(message + published.hint(name, caller))
        if "version" in query:
            rows = rows.filter(version=query["version"])
        page = paginate(request, rows, order=("version", "id"), query=query)
        response = page_response(request, page, shapes.show_agent)
        told = [shapes.show_publication(one) for one in found]
        response.data = {"name": name, "published": told, **response.data}
        return response


def _counted(names: list[str]) -> dict[str, dict[str, Any]]:
    live = Q(agent__state__in=[state.value for state in LIVE])
    rows = ServedTaskType.objects.filter(name__in=names).values("name")
    counts = rows.annotate(
        agents=Count("agent", distinct=True), live_agents=Count("agent", distinct=True, filter=live)
    )
    found: dict[str, dict[str, Any]] = {
        name: {"name": name, "versions": [], "agents": 0, "live_agents": 0} for name in names
    }
    for row in counts:
        found[row["name"]].update(row)
    versions = ServedTaskType.objects.filter(name__in=names).values_list("name", "version").distinct()
    for name, version in versions.order_by("name", "version"):
        found[name]["versions"].append(version)
    return found
