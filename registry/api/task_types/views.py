"""HTTP endpoints for task types: list, and details with publishing teams and serving agents."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.endpoints import Endpoint, caller_of
from controlplane.api.pages import page_response, paginate
from controlplane.identity.roles import Action
from registry import task_routing
from registry.api.task_types import examples, schemas


class TaskTypes(Endpoint):
    actions = {"GET": Action.AGENT_READ}

    @extend_schema(
        operation_id="task_types_list",
        summary="List task types",
        description=(
            "Lists the task types that registered agents serve and those that teams publish, with counts of "
            "each."
        ),
        tags=["agents"],
        parameters=[schemas.TaskTypeListQuery],
        responses=schemas.TaskTypePage,
        examples=examples.TASK_TYPES,
    )
    def get(self, request: Request) -> Response:
        query, caller = schemas.TaskTypeListQuery.parse(request), caller_of(request)
        page = paginate(
            request, task_routing.visible_names(caller).filter(query["q"]), order=query["sort"], query=query
        )
        summaries = task_routing.summaries([row.name for row in page.items], caller)
        return page_response(request, page, lambda row: summaries[row.name])


class TaskTypeItem(Endpoint):
    actions = {"GET": Action.AGENT_READ}

    @extend_schema(
        operation_id="task_types_get",
        summary="Get one task type",
        description=(
            "Shows who publishes the task type in each data plane, whose claims were rejected and why, and "
            "which registered agents serve it."
        ),
        tags=["agents"],
        parameters=[schemas.TaskTypeQuery],
        responses=schemas.TaskTypeDetail,
        examples=examples.TASK_TYPE,
    )
    def get(self, request: Request, name: str) -> Response:
        query, caller = schemas.TaskTypeQuery.parse(request), caller_of(request)
        routes, rows = task_routing.find_task_type(name, caller)
        if "version" in query:
            rows = rows.filter(version=query["version"])
        page = paginate(request, rows, order=("version", "id"), query=query)
        response = page_response(request, page, schemas.show_agent)
        published = [schemas.show_publication(route) for route in routes]
        response.data = {"name": name, "published": published, **response.data}
        return response
