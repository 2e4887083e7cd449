"""HTTP endpoints for built-in and custom roles."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.access.models import CustomRole
from controlplane.access.role_bindings import find_role
from controlplane.access.roles import custom_roles
from controlplane.access.roles.custom_roles import check_may_define, get_custom_role
from controlplane.api.endpoints import Endpoint, MutationQuery, actor_of, caller_of, mutation
from controlplane.api.etags import parse_precondition, respond, version_etag
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import Page, PageQuery, page_response, paginate
from controlplane.endpoints.access.roles import examples, schemas
from controlplane.identity.roles import Action, Role


class RoleCollection(Endpoint):
    actions = {"GET": Action.ACCESS_READ, "POST": Action.ACCESS_WRITE}
    delegated = True
    problems = {"POST": (errors.NameTaken,)}

    @extend_schema(
        operation_id="roles_list",
        summary="List roles",
        description=(
            "Returns built-in and custom roles with their permissions. The first page has all built-in roles,"
            " which `limit` does not count."
        ),
        tags=["access"],
        parameters=[PageQuery],
        responses=schemas.RolePage,
        examples=[examples.ROLE_PAGE],
    )
    def get(self, request: Request) -> Response:
        query = PageQuery.parse(request)
        page = paginate(request, CustomRole.objects.all(), order=("name",), query=query)
        built_in = [] if "cursor" in query else list(Role)
        total = page.total and page.total.plus(len(Role))
        page = Page([*built_in, *page.items], page.next_cursor, total)
        return page_response(request, page, schemas.show_role)

    @extend_schema(
        operation_id="roles_create",
        summary="Create a custom role",
        description="Requires administration of access to everything, and every permission of the role.",
        tags=["access"],
        parameters=[MutationQuery],
        request=schemas.RoleWrite,
        responses={201: schemas.RoleRead},
        examples=[examples.ROLE_WRITE, examples.ROLE],
    )
    @mutation
    def post(self, request: Request) -> Response:
        MutationQuery.parse(request)
        caller, body = caller_of(request), parse_body(schemas.RoleWrite, request)
        caller.require(Action.ACCESS_WRITE)
        actions = [Action(action) for action in body["actions"]]
        check_may_define(caller, actions)
        role = custom_roles.create_role(
            body["name"], title=body["title"], actions=actions, actor=actor_of(request)
        )
        headers = {"Location": f"{request.path}/{role.name}", "ETag": version_etag(role.version)}
        return Response(schemas.show_role(role), status=201, headers=headers)


class RoleItem(Endpoint):
    actions = {"GET": Action.ACCESS_READ, "PUT": Action.ACCESS_WRITE, "DELETE": Action.ACCESS_WRITE}
    delegated = True
    has_versions = True
    problems = {"PUT": (errors.BuiltInRole,), "DELETE": (errors.StillInUse,)}

    @extend_schema(
        operation_id="roles_get",
        summary="Get one role",
        description="Returns the permissions of a role. The response has an ETag.",
        tags=["access"],
        responses=schemas.RoleRead,
        examples=[examples.ROLE],
    )
    def get(self, request: Request, name: str) -> Response:
        Query.parse(request)
        role = find_role(name)
        version = role.version if isinstance(role, CustomRole) else 0
        return respond(request, schemas.show_role(role), etag=version_etag(version))

    @extend_schema(
        operation_id="roles_put",
        summary="Replace a custom role",
        description=(
            "All bindings of the role follow at once. You need every permission of the new role. Built-in"
            " roles cannot be changed."
        ),
        tags=["access"],
        parameters=[MutationQuery],
        request=schemas.RoleReplacement,
        responses=schemas.RoleRead,
        examples=[examples.ROLE_REPLACEMENT, examples.ROLE],
    )
    @mutation
    def put(self, request: Request, name: str) -> Response:
        MutationQuery.parse(request)
        caller, body = caller_of(request), parse_body(schemas.RoleReplacement, request)
        caller.require(Action.ACCESS_WRITE)
        actions = [Action(action) for action in body["actions"]]
        role = get_custom_role(name)
        check_may_define(caller, actions)
        role = custom_roles.replace_role(
            role,
            title=body["title"],
            actions=actions,
            actor=actor_of(request),
            precondition=parse_precondition(request),
        )
        return Response(schemas.show_role(role), headers={"ETag": version_etag(role.version)})

    @extend_schema(
        operation_id="roles_delete",
        summary="Delete a custom role",
        description="Rejected while a role binding has the role.",
        tags=["access"],
        parameters=[MutationQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, name: str) -> Response:
        MutationQuery.parse(request)
        caller_of(request).require(Action.ACCESS_WRITE)
        precondition = parse_precondition(request)
        custom_roles.delete_role(get_custom_role(name), actor=actor_of(request), precondition=precondition)
        return Response(status=204)
