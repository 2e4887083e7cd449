"""HTTP endpoint for the assignments of a resource."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.endpoints import OF_LISTS, Endpoint, caller_of
from controlplane.api.fields import Query
from controlplane.identity.roles import Action
from registry.api.dispatch import examples
from registry.api.dispatch.assignment_schemas import AssignmentPage, show_assignment
from registry.dispatch.resources.search import get_readable
from registry.dispatch.resources.timelines import MOST_ENTRIES, assignments_of


class AssignmentCollection(Endpoint):
    actions = {"GET": Action.RESOURCE_READ}
    staleness = OF_LISTS

    @extend_schema(
        operation_id="resource_assignments_list",
        summary="List the assignments of a resource",
        description=(
            "One for each attempt at an agent, with the messages sent and received: the newest "
            f"{MOST_ENTRIES} of the resource. All assignments are on one page."
        ),
        tags=["resources"],
        responses=AssignmentPage,
        examples=[examples.ASSIGNMENTS],
    )
    def get(self, request: Request, resource_id: str) -> Response:
        Query.parse(request)
        row = get_readable(caller_of(request), resource_id)
        items = [show_assignment(history) for history in assignments_of(row)]
        return Response({"items": items, "next_cursor": None})
