"""HTTP endpoint for who may perform an action."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.access.roles.permission_matrix import ORDER, bindings_that_allow, require_matrix
from controlplane.access.teams.visible_teams import get_visible_team
from controlplane.api.endpoints import Endpoint, caller_of
from controlplane.api.pages import page_response, paginate
from controlplane.api.scopes import scope_from
from controlplane.endpoints.access.roles import examples, schemas
from controlplane.identity.roles import Action


class PermissionMatrix(Endpoint):
    actions = {"GET": Action.ACCESS_READ}
    delegated = True

    @extend_schema(
        operation_id="access_matrix",
        summary="List who may perform an action",
        description=(
            "Returns each active principal that may perform the action at the scope on objects of the team,"
            " with the role binding that allows it, directly or through a team, and its origin. Ceilings of"
            " single tokens are not considered."
        ),
        tags=["access"],
        parameters=[schemas.MatrixQuery],
        responses=schemas.MatrixPage,
        examples=[examples.MATRIX_PAGE],
    )
    def get(self, request: Request) -> Response:
        query = schemas.MatrixQuery.parse(request)
        caller, action, scope = caller_of(request), Action(query["action"]), scope_from(query)
        team = get_visible_team(caller, query["team"]) if "team" in query else None
        require_matrix(caller, action, scope, team)
        page = paginate(request, bindings_that_allow(action, scope, team), order=ORDER, query=query)
        return page_response(request, page, schemas.show_matrix_row)
