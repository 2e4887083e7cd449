"""HTTP endpoints for role bindings."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.access import principals, role_bindings
from controlplane.access.models import RoleBinding
from controlplane.api.endpoints import Endpoint, MutationQuery, actor_of, mutation
from controlplane.api.fields import parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.endpoints.access import examples, schemas
from controlplane.identity.roles import Action, Role
from controlplane.scopes import Scope


class RoleBindingCollection(Endpoint):
    actions = {"GET": Action.ACCESS_READ, "POST": Action.ACCESS_WRITE}
    problems = {"POST": (errors.UnknownPrincipal,)}

    @extend_schema(
        operation_id="role_bindings_list",
        summary="List role bindings",
        description=("A role binding grants a principal a role at a scope and below it."),
        tags=["access"],
        parameters=[schemas.RoleBindingListQuery],
        responses=schemas.RoleBindingPage,
        examples=[examples.ROLE_BINDING_PAGE],
    )
    def get(self, request: Request) -> Response:
        query = schemas.RoleBindingListQuery.parse(request)
        rows = RoleBinding.objects.select_related("principal")
        if "principal" in query:
            rows = rows.filter(principal__name=query["principal"])
        page = paginate(request, rows, order=("id",), query=query)
        return page_response(request, page, schemas.show_role_binding)

    @extend_schema(
        operation_id="role_bindings_create",
        summary="Create a role binding",
        description="Grants a principal a role at a scope and below it.",
        tags=["access"],
        parameters=[MutationQuery],
        request=schemas.RoleBindingWrite,
        responses={201: schemas.RoleBindingRead},
        examples=[examples.ROLE_BINDING_WRITE, examples.ROLE_BINDING],
    )
    @mutation
    def post(self, request: Request) -> Response:
        MutationQuery.parse(request)
        body = parse_body(schemas.RoleBindingWrite, request)
        binding = role_bindings.bind_role(
            principals.get_principal(body["principal"]),
            Role(body["role"]),
            Scope(**body.get("scope", {})),
            actor=actor_of(request),
        )
        return Response(schemas.show_role_binding(binding), status=201)


class RoleBindingItem(Endpoint):
    actions = {"DELETE": Action.ACCESS_WRITE}
    problems = {"DELETE": (errors.LastAdministrator,)}

    @extend_schema(
        operation_id="role_bindings_delete",
        summary="Delete a role binding",
        description="The role is revoked from the principal's next request on.",
        tags=["access"],
        parameters=[MutationQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, binding_id: UUID) -> Response:
        MutationQuery.parse(request)
        role_bindings.unbind_role(binding_id, actor=actor_of(request))
        return Response(status=204)
