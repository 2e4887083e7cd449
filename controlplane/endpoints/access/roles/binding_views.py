"""HTTP endpoints for role bindings, at every scope and for every team that the caller administers."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.access import role_bindings
from controlplane.access.roles.grant_role import RoleOrder, grant_role
from controlplane.access.roles.visible_bindings import get_binding_to_change, visible_bindings
from controlplane.api.endpoints import Endpoint, MutationQuery, actor_of, caller_of, mutation
from controlplane.api.fields import parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.endpoints.access.roles import examples, schemas
from controlplane.identity.roles import Action
from controlplane.scopes import Scope

_FILTERS = {
    "principal": "principal__name",
    "team": "team__slug",
    "role": "role",
    "owned_by": "owned_by__slug",
}


class RoleBindingCollection(Endpoint):
    actions = {"GET": Action.ACCESS_READ, "POST": Action.ACCESS_WRITE}
    delegated = True
    problems = {"POST": (errors.UnknownPrincipal,)}

    @extend_schema(
        operation_id="role_bindings_list",
        summary="List role bindings",
        description=(
            "A role binding grants a principal, or all members of a team, a role at a scope and below it."
            " Returns the bindings at the scopes and for the teams that you administer."
        ),
        tags=["access"],
        parameters=[schemas.RoleBindingListQuery],
        responses=schemas.RoleBindingPage,
        examples=[examples.ROLE_BINDING_PAGE],
    )
    def get(self, request: Request) -> Response:
        query = schemas.RoleBindingListQuery.parse(request)
        filters = {path: query[name] for name, path in _FILTERS.items() if name in query}
        rows = visible_bindings(caller_of(request)).filter(**filters)
        page = paginate(request, rows.filter(query["q"]), order=query["sort"], query=query)
        return page_response(request, page, schemas.show_role_binding)

    @extend_schema(
        operation_id="role_bindings_create",
        summary="Create a role binding",
        description=(
            "Grants a role to a principal or team at a scope and below it. You need administration of access"
            " there, and every permission that the role gives."
        ),
        tags=["access"],
        parameters=[MutationQuery],
        request=schemas.RoleBindingWrite,
        responses={201: schemas.RoleBindingRead},
        examples=[examples.ROLE_BINDING_WRITE, examples.TEAM_BINDING_WRITE, examples.ROLE_BINDING],
    )
    @mutation
    def post(self, request: Request) -> Response:
        MutationQuery.parse(request)
        order = role_order(parse_body(schemas.RoleBindingWrite, request))
        binding = grant_role(caller_of(request), order, actor=actor_of(request))
        return Response(schemas.show_role_binding(binding), status=201)


class RoleBindingItem(Endpoint):
    actions = {"DELETE": Action.ACCESS_WRITE}
    delegated = True
    problems = {"DELETE": (errors.LastAdministrator,)}

    @extend_schema(
        operation_id="role_bindings_delete",
        summary="Delete a role binding",
        description="The role is revoked from the holder's next request on.",
        tags=["access"],
        parameters=[MutationQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, binding_id: UUID) -> Response:
        MutationQuery.parse(request)
        binding = get_binding_to_change(caller_of(request), binding_id)
        role_bindings.unbind_role(binding.id, actor=actor_of(request))
        return Response(status=204)


def role_order(body: dict[str, object]) -> RoleOrder:
    """Return the order of a validated RoleBindingWrite."""
    scope = body.get("scope")
    return RoleOrder(**{**body, "scope": Scope(**scope) if isinstance(scope, dict) else Scope()})  # type: ignore[arg-type]  # validated
