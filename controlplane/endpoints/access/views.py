"""HTTP endpoints for the current principal, principals and the audit log."""

from __future__ import annotations

from typing import Any

from django.db.models import Q
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.access import organisations, principals
from controlplane.access.login import passwords
from controlplane.access.models import AuditRecord, Principal, PrincipalKind
from controlplane.access.teams.memberships import teams_of
from controlplane.access.teams.organisations import check_own_organisation
from controlplane.access.teams.visible_teams import get_visible_team
from controlplane.access.visible_audit import UNINDEXED_FILTERS, visible_records
from controlplane.api.endpoints import OF_LISTS, Endpoint, MutationQuery, actor_of, caller_of, mutation
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.api.scopes import show_scope
from controlplane.api.time_range import ASCENDING, in_range
from controlplane.endpoints.access import examples, schemas
from controlplane.errors import FieldError, InvalidRequest
from controlplane.identity.callers import Caller
from controlplane.identity.grants import Grant
from controlplane.identity.roles import Action
from controlplane.scopes import Scope


class Me(Endpoint):
    actions = {"GET": Action.SELF_READ}

    @extend_schema(
        operation_id="me_get",
        summary="Get the current principal",
        description="Returns the caller's name, its teams, and its roles with their scopes.",
        tags=["access"],
        responses=schemas.CurrentPrincipalRead,
        examples=[examples.ME],
    )
    def get(self, request: Request) -> Response:
        Query.parse(request)
        caller = caller_of(request)
        return Response(
            {
                "name": caller.name,
                "kind": caller.kind,
                "grants": [_show_grant(grant) for grant in caller.grants],
                "teams": _team_names(caller),
            }
        )


class CanI(Endpoint):
    actions = {"POST": Action.SELF_READ}
    problems = {"POST": (errors.UnknownTeam,)}

    @extend_schema(
        operation_id="me_can_i",
        summary="Check a permission of the caller",
        description="Returns whether the caller may perform an action at a scope, on an object of a team. The"
        " reason names the role that allows it, or the roles that would.",
        tags=["access"],
        request=schemas.PermissionCheckWrite,
        responses={200: schemas.PermissionCheckRead},
        examples=[examples.QUESTION, examples.VERDICT],
    )
    @mutation
    def post(self, request: Request) -> Response:
        Query.parse(request)
        caller, body = caller_of(request), parse_body(schemas.PermissionCheckWrite, request)
        if "organisation" in body:
            check_own_organisation(caller, body["organisation"])
        team = get_visible_team(caller, body["team"]) if "team" in body else None
        scope, owner = Scope(**body.get("scope", {})), team.id if team else None
        verdict = caller.verdict(Action(body["action"]), scope, owner)
        return Response({"allowed": verdict.allowed, "reason": verdict.reason})


class PrincipalCollection(Endpoint):
    actions = {"GET": Action.ACCESS_READ, "POST": Action.ACCESS_WRITE}
    problems = {"POST": (errors.UnknownOrganisation,)}

    @extend_schema(
        operation_id="principals_list",
        summary="List principals",
        description="Returns people, services and agents, whether active or not.",
        tags=["access"],
        parameters=[schemas.PrincipalListQuery],
        responses=schemas.PrincipalPage,
        examples=[examples.PRINCIPAL_PAGE],
    )
    def get(self, request: Request) -> Response:
        query = schemas.PrincipalListQuery.parse(request)
        page = paginate(
            request,
            Principal.objects.select_related("organisation").filter(query["q"]),
            order=query["sort"],
            query=query,
        )
        return page_response(request, page, schemas.show_principal)

    @extend_schema(
        operation_id="principals_create",
        summary="Create a principal",
        description="A new principal has no roles. Grant one with `POST /api/v1/role-bindings`.",
        tags=["access"],
        parameters=[MutationQuery],
        request=schemas.PrincipalWrite,
        responses={201: schemas.PrincipalRead},
        examples=[examples.PRINCIPAL_WRITE, examples.PRINCIPAL],
    )
    @mutation
    def post(self, request: Request) -> Response:
        MutationQuery.parse(request)
        body = parse_body(schemas.PrincipalWrite, request)
        _check_password(body["kind"], body["password"])
        principal = principals.create_principal(
            body["name"],
            kind=body["kind"],
            password=body["password"],
            organisation=organisations.get_organisation(body["organisation"]),
            actor=actor_of(request),
        )
        principal.refresh_from_db()
        location = {"Location": f"{request.path}/{principal.name}"}
        return Response(schemas.show_principal(principal), status=201, headers=location)


class PrincipalItem(Endpoint):
    actions = {"GET": Action.ACCESS_READ, "PATCH": Action.ACCESS_WRITE}
    problems = {"PATCH": (errors.LastAdministrator,)}

    @extend_schema(
        operation_id="principals_get",
        summary="Get one principal",
        description="Returns a principal's kind and whether it is active.",
        tags=["access"],
        responses=schemas.PrincipalRead,
        examples=[examples.PRINCIPAL],
    )
    def get(self, request: Request, name: str) -> Response:
        Query.parse(request)
        return Response(schemas.show_principal(principals.get_principal(name)))

    @extend_schema(
        operation_id="principals_patch",
        summary="Activate or deactivate a principal",
        description=(
            "A deactivated principal keeps its roles and tokens, but all its requests are rejected"
            " until it is activated again."
        ),
        tags=["access"],
        parameters=[MutationQuery],
        request=schemas.PrincipalPatch,
        responses=schemas.PrincipalRead,
        examples=[examples.PRINCIPAL_PATCH, examples.PRINCIPAL],
    )
    @mutation
    def patch(self, request: Request, name: str) -> Response:
        MutationQuery.parse(request)
        body = parse_body(schemas.PrincipalPatch, request)
        principal = principals.set_active(name, is_active=body["is_active"], actor=actor_of(request))
        return Response(schemas.show_principal(principal))


class AuditCollection(Endpoint):
    actions = {"GET": Action.AUDIT_READ}
    staleness = OF_LISTS

    @extend_schema(
        operation_id="audit_list",
        summary="List audit records",
        description=(
            "Returns the changes that you may read, newest first: actor, time, the object before and"
            " after the change, and the reason."
        ),
        tags=["audit"],
        parameters=[schemas.AuditListQuery],
        responses=schemas.AuditPage,
        examples=[examples.AUDIT_PAGE],
    )
    def get(self, request: Request) -> Response:
        query = schemas.AuditListQuery.parse(request)
        names = ("actor", "object_type", "object_id", "request_id")
        chosen = Q(in_range(query), **{name: query[name] for name in names if name in query})
        # By no index.
        looked_for = query["q"] & Q(**{name: query[name] for name in UNINDEXED_FILTERS if name in query})
        rows = visible_records(caller_of(request)).filter(chosen, looked_for)
        scanned = AuditRecord.objects.filter(chosen) if looked_for else None
        order = ("id",) if query["order"] == ASCENDING else ("-id",)
        page = paginate(request, rows, order=order, query=query, scanned=scanned)
        return page_response(request, page, schemas.show_audit_record)


def _team_names(caller: Caller) -> list[str]:
    if caller.teams is not None:
        return list(caller.teams)
    return [team.slug for team in teams_of(caller.principal_id)] if caller.principal_id else []


def _show_grant(grant: Grant) -> dict[str, Any]:
    owned_by = grant.team.slug if grant.team else None
    return {"role": str(grant.role), "scope": show_scope(grant.scope), "owned_by": owned_by}


def _check_password(kind: str, password: str) -> None:
    message = ""
    if password and kind != PrincipalKind.PERSON:
        message = "Only people have passwords. Omit `password`, and create a token instead."
    elif password:
        passwords.check_policy(password, "/password")
    if message:
        raise InvalidRequest(message, errors=[FieldError("/password", "not_allowed", message)])
