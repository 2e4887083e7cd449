"""Doors to access: who am I, may I; principals, tokens, role bindings; the audit log."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.access import principals
from controlplane.access.api import examples
from controlplane.access.api import serializers as shapes
from controlplane.access.models import AuditRecord, Principal, PrincipalKind, RoleBinding, Token
from controlplane.access.roles import Action, Role
from controlplane.api.endpoints import Endpoint, MutationQuery, actor_of, caller_of, mutation
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import PageQuery, page_response, paginate
from controlplane.api.scopes import show_scope
from controlplane.errors import FieldError, InvalidRequest, PermissionDenied
from controlplane.scopes import Scope


class Me(Endpoint):
    actions = {"GET": Action.SELF_READ}

    @extend_schema(
        operation_id="me_get",
        summary="Who am I, and what may I do?",
        tags=["access"],
        responses=shapes.MeRead,
        examples=[examples.ME],
    )
    def get(self, request: Request) -> Response:
        Query.parse(request)
        caller = caller_of(request)
        grants = [{"role": one.role.value, "scope": show_scope(one.scope)} for one in caller.grants]
        return Response({"name": caller.name, "kind": caller.kind, "grants": grants})


class CanI(Endpoint):
    actions = {"POST": Action.SELF_READ}

    @extend_schema(
        operation_id="me_can_i",
        summary="May I do this there?",
        description="Changes nothing. The reason names the role that allows it, or those that would.",
        tags=["access"],
        request=shapes.QuestionWrite,
        responses={200: shapes.VerdictRead},
        examples=[examples.QUESTION, examples.VERDICT],
    )
    @mutation
    def post(self, request: Request) -> Response:
        Query.parse(request)
        asked = parse_body(shapes.QuestionWrite, request)
        verdict = caller_of(request).verdict(Action(asked["action"]), Scope(**asked.get("scope", {})))
        return Response({"allowed": verdict.allowed, "reason": verdict.reason})


class PrincipalCollection(Endpoint):
    actions = {"GET": Action.ACCESS_READ, "POST": Action.ACCESS_WRITE}

    @extend_schema(
        operation_id="principals_list",
        summary="List people, services and agents",
        tags=["access"],
        parameters=[PageQuery],
        responses=shapes.PrincipalPage,
        examples=[examples.PRINCIPAL_PAGE],
    )
    def get(self, request: Request) -> Response:
        query = PageQuery.parse(request)
        page = paginate(request, Principal.objects.all(), order=("name",), query=query)
        return page_response(request, page, shapes.show_principal)

    @extend_schema(
        operation_id="principals_create",
        summary="Add a person, a service or an agent",
        description="It has no role yet: bind one with `POST /api/v1/role-bindings`.",
        tags=["access"],
        parameters=[MutationQuery],
        request=shapes.PrincipalWrite,
        responses={201: shapes.PrincipalRead},
        examples=[examples.PRINCIPAL_WRITE, examples.PRINCIPAL],
    )
    @mutation
    def post(self, request: Request) -> Response:
        MutationQuery.parse(request)
        wanted = parse_body(shapes.PrincipalWrite, request)
        _check_password(wanted["kind"], wanted["password"])
        principal = principals.create_principal(
            wanted["name"],
            kind=wanted["kind"],
            password=wanted["password"],
            actor=actor_of(request),
        )
        principal.refresh_from_db()
        location = {"Location": f"{request.path}/{principal.name}"}
        return Response(shapes.show_principal(principal), status=201, headers=location)


class PrincipalItem(Endpoint):
    actions = {"GET": Action.ACCESS_READ, "PATCH": Action.ACCESS_WRITE}

    @extend_schema(
        operation_id="principals_get",
        summary="Read one principal",
        tags=["access"],
        responses=shapes.PrincipalRead,
        examples=[examples.PRINCIPAL],
    )
    def get(self, request: Request, name: str) -> Response:
        Query.parse(request)
        return Response(shapes.show_principal(principals.get_principal(name)))

    @extend_schema(
        operation_id="principals_patch",
        summary="Switch a principal on or off",
        tags=["access"],
        parameters=[MutationQuery],
        request=shapes.PrincipalPatch,
        responses=shapes.PrincipalRead,
        examples=[examples.PRINCIPAL_PATCH, examples.PRINCIPAL],
    )
    @mutation
    def patch(self, request: Request, name: str) -> Response:
        MutationQuery.parse(request)
        wanted = parse_body(shapes.PrincipalPatch, request)
        principal = principals.set_active(name, is_active=wanted["is_active"], actor=actor_of(request))
        return Response(shapes.show_principal(principal))


class TokenCollection(Endpoint):
    actions = {"GET": Action.SELF_READ, "POST": Action.SELF_WRITE}

    @extend_schema(
        operation_id="tokens_list",
        summary="List tokens, never their secrets",
        tags=["access"],
        parameters=[shapes.TokenListQuery],
        responses=shapes.TokenPage,
        examples=[examples.TOKEN_PAGE],
    )
    def get(self, request: Request) -> Response:
        query = shapes.TokenListQuery.parse(request)
        owner = query.get("principal", caller_of(request).name)
        _require_own_or(request, Action.ACCESS_READ, owner)
        rows = Token.objects.filter(principal__name=owner).select_related("principal")
        return page_response(request, paginate(request, rows, order=("id",), query=query), shapes.show_token)

    @extend_schema(
        operation_id="tokens_create",
        summary="Make a token; its secret is shown this once",
        tags=["access"],
        parameters=[MutationQuery],
        request=shapes.TokenWrite,
        responses={201: shapes.NewTokenRead},
        examples=[examples.TOKEN_WRITE, examples.NEW_TOKEN],
    )
    @mutation
    def post(self, request: Request) -> Response:
        MutationQuery.parse(request)
        wanted = parse_body(shapes.TokenWrite, request)
        owner = wanted.get("principal", caller_of(request).name)
        _require_own_or(request, Action.ACCESS_WRITE, owner)
        token, secret = principals.create_token(
            principals.get_principal(owner),
            name=wanted["name"],
            expires_at=wanted["expires_at"],
            actor=actor_of(request),
        )
        response = Response(shapes.show_token(token) | {"token": secret}, status=201)
        # What is kept for a repeated request lies in a plain column.
        response.shown_again = shapes.show_token(token) | {"token": None}  # type: ignore[attr-defined]  # endpoints.py
        return response


class TokenItem(Endpoint):
    actions = {"DELETE": Action.SELF_WRITE}

    @extend_schema(
        operation_id="tokens_revoke",
        summary="Revoke a token; it stops working at once",
        tags=["access"],
        parameters=[MutationQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, token_id: UUID) -> Response:
        MutationQuery.parse(request)
        caller = caller_of(request)
        anyones = caller.verdict(Action.ACCESS_WRITE).allowed
        principals.revoke_token(
            token_id, of=None if anyones else caller.principal_id, actor=actor_of(request)
        )
        return Response(status=204)


class RoleBindingCollection(Endpoint):
    actions = {"GET": Action.ACCESS_READ, "POST": Action.ACCESS_WRITE}

    @extend_schema(
        operation_id="role_bindings_list",
        summary="List who has which role where",
        tags=["access"],
        parameters=[shapes.RoleBindingListQuery],
        responses=shapes.RoleBindingPage,
        examples=[examples.ROLE_BINDING_PAGE],
    )
    def get(self, request: Request) -> Response:
        query = shapes.RoleBindingListQuery.parse(request)
        rows = RoleBinding.objects.select_related("principal")
        if "principal" in query:
            rows = rows.filter(principal__name=query["principal"])
        page = paginate(request, rows, order=("id",), query=query)
        return page_response(request, page, shapes.show_role_binding)

    @extend_schema(
        operation_id="role_bindings_create",
        summary="Give a role at a scope and everywhere below it",
        tags=["access"],
        parameters=[MutationQuery],
        request=shapes.RoleBindingWrite,
        responses={201: shapes.RoleBindingRead},
        examples=[examples.ROLE_BINDING_WRITE, examples.ROLE_BINDING],
    )
    @mutation
    def post(self, request: Request) -> Response:
        MutationQuery.parse(request)
        wanted = parse_body(shapes.RoleBindingWrite, request)
        binding = principals.bind_role(
            principals.get_principal(wanted["principal"]),
            Role(wanted["role"]),
            Scope(**wanted.get("scope", {})),
            actor=actor_of(request),
        )
        return Response(shapes.show_role_binding(binding), status=201)


class RoleBindingItem(Endpoint):
    actions = {"DELETE": Action.ACCESS_WRITE}

    @extend_schema(
        operation_id="role_bindings_delete",
        summary="Take a role away",
        tags=["access"],
        parameters=[MutationQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, binding_id: UUID) -> Response:
        MutationQuery.parse(request)
        principals.unbind_role(binding_id, actor=actor_of(request))
        return Response(status=204)


class AuditCollection(Endpoint):
    actions = {"GET": Action.AUDIT_READ}

    @extend_schema(
        operation_id="audit_list",
        summary="Who did what, before and after, oldest first",
        tags=["audit"],
        parameters=[shapes.AuditListQuery],
        responses=shapes.AuditPage,
        examples=[examples.AUDIT_PAGE],
    )
    def get(self, request: Request) -> Response:
        query = shapes.AuditListQuery.parse(request)
        rows = AuditRecord.objects.within(caller_of(request).scopes_for(Action.AUDIT_READ))
        wanted = ("actor", "object_type", "object_id", "request_id")
        rows = rows.filter(**{name: query[name] for name in wanted if name in query})
        return page_response(
            request, paginate(request, rows, order=("id",), query=query), shapes.show_audit_record
        )


def _require_own_or(request: Request, action: Action, owner: str) -> None:
    caller = caller_of(request)
    if caller.principal_id is None:
        raise PermissionDenied("An anonymous reader has no tokens.")
    if owner != caller.name:
        caller.require(action)


def _check_password(kind: str, password: str) -> None:
    message = ""
    if password and kind != PrincipalKind.PERSON:
        message = "Only a person has a password."
    elif password:
        try:
            validate_password(password)
        except ValidationError as error:
            message = " ".join(error.messages)
    if message:
        raise InvalidRequest(message, errors=[FieldError("/password", "not_allowed", message)])
