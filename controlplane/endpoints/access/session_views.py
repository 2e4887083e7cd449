"""HTTP endpoints for passwords and console sessions."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.access.login import passwords, sessions
from controlplane.access.login.passwords import PasswordChange
from controlplane.access.login.session_store import SessionStore, keep_logged_in
from controlplane.access.models import Session
from controlplane.api.endpoints import Endpoint, MutationQuery, actor_of, caller_of, mutation
from controlplane.api.fields import StrictSerializer, Text, parse_body
from controlplane.api.pages import PageQuery, page_response, paginate
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from controlplane.endpoints.access.password_queue import RETRY_SECONDS, is_full
from controlplane.endpoints.access.self_service import require_own_or
from controlplane.errors import PermissionDenied, TooManyAttempts
from controlplane.identity.roles import Action
from controlplane.web.client_address import address_of

_SESSION = {
    "id": "019a9f5e-7c00-7000-8000-000000000014",
    "principal": "ada",
    "created_at": "2026-11-21T09:30:00Z",
    "last_used_at": "2026-11-21T11:02:00Z",
    "expires_at": "2026-11-21T21:30:00Z",
    "address": "192.0.2.17",
    "browser": "Firefox on Linux",
    "provider": "work",
    "auth_time": "2026-11-21T08:12:00Z",
    "is_current": False,
}


class PasswordWrite(StrictSerializer):
    current_password = Text(max_length=128)
    new_password = Text(max_length=128, help_text="At least 12 characters, and not a common password.")


class SessionRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    principal = serializers.CharField(source="principal.name")
    created_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(help_text="Time of the last use, to the minute.")
    expires_at = serializers.DateTimeField()
    address = serializers.CharField(help_text="Client address of the last use.")
    browser = serializers.CharField(help_text="Name of the browser; empty if unknown.")
    provider = serializers.CharField(help_text="Identity provider of the login; empty for a password.")
    auth_time = serializers.DateTimeField(
        allow_null=True, help_text="When the person authenticated, here or at the provider."
    )
    is_current = serializers.BooleanField(help_text="Whether this request uses the session.")


class SessionPage(serializers.Serializer[Any]):
    items = SessionRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class SessionListQuery(PageQuery):
    principal = serializers.CharField(
        required=False, help_text="Owner. Default: the caller. Other owners require administration of access."
    )
    q = SearchField("address", "browser", "provider")
    sort = SortField(SortKeys.of("last_used_at", "expires_at", created_at="id"), default="-created_at")


class EndSessionsWrite(StrictSerializer):
    principal = Text(
        required=False,
        max_length=63,
        help_text="Owner. Default: the caller. Other owners require administration of access.",
    )


class EndedSessions(serializers.Serializer[Any]):
    ended = serializers.IntegerField(help_text="Number of ended sessions.")


class ChangePassword(Endpoint):
    actions = {"POST": Action.SELF_WRITE}
    takes_keys = False

    @extend_schema(
        operation_id="me_change_password",
        summary="Change your password",
        description=(
            "Changes the password for the console. Ends your other sessions. The session of this"
            " request and your tokens stay valid."
        ),
        tags=["access"],
        parameters=[MutationQuery],
        request=PasswordWrite,
        responses={204: None},
        examples=[
            OpenApiExample(
                "A new password",
                value={"current_password": "tr0ub4dor-and-3", "new_password": "correct horse battery staple"},
                request_only=True,
            )
        ],
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = MutationQuery.parse(request)
        body = parse_body(PasswordWrite, request)
        if is_full(request._request):
            raise TooManyAttempts(
                "The server is busy with logins. Try again in a few seconds.", retry_after=RETRY_SECONDS
            )
        change = PasswordChange(
            _person(request),
            body["current_password"],
            body["new_password"],
            address_of(request._request),
            session_digest(request._request),
        )
        person = passwords.change_password(change, actor=actor_of(request))
        if change.session and not query["dry_run"]:
            keep_logged_in(request._request, person)
        return Response(status=204)


class SessionCollection(Endpoint):
    actions = {"GET": Action.SELF_READ}

    @extend_schema(
        operation_id="sessions_list",
        summary="List console sessions",
        description="Returns a person's sessions in the console, with browser, address and last use.",
        tags=["access"],
        parameters=[SessionListQuery],
        responses=SessionPage,
        examples=[
            OpenApiExample("A page", value={"items": [_SESSION], "next_cursor": None}, response_only=True)
        ],
    )
    def get(self, request: Request) -> Response:
        query = SessionListQuery.parse(request)
        owner = query.get("principal", caller_of(request).name)
        require_own_or(caller_of(request), Action.ACCESS_READ, owner)
        current = session_digest(request._request)
        page = paginate(
            request, sessions.current_sessions(owner).filter(query["q"]), order=query["sort"], query=query
        )
        return page_response(request, page, lambda session: _show(session, current))


class SessionItem(Endpoint):
    actions = {"DELETE": Action.SELF_WRITE}

    @extend_schema(
        operation_id="sessions_end",
        summary="End a console session",
        description="The browser is logged out at its next request. Administrators can end any session.",
        tags=["access"],
        parameters=[MutationQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, session_id: UUID) -> Response:
        MutationQuery.parse(request)
        caller = caller_of(request)
        of = None if caller.verdict(Action.ACCESS_WRITE).allowed else _person(request)
        sessions.end_session(session_id, of=of, actor=actor_of(request))
        return Response(status=204)


class SessionsEnd(Endpoint):
    actions = {"POST": Action.SELF_WRITE}

    @extend_schema(
        operation_id="sessions_end_all",
        summary="End all console sessions of a person",
        description="Ends all sessions but that of this request. Tokens stay valid.",
        tags=["access"],
        parameters=[MutationQuery],
        request=EndSessionsWrite,
        responses={200: EndedSessions},
        examples=[
            OpenApiExample("Sessions of one person", value={"principal": "ada"}, request_only=True),
            OpenApiExample("Two sessions ended", value={"ended": 2}, response_only=True),
        ],
    )
    @mutation
    def post(self, request: Request) -> Response:
        MutationQuery.parse(request)
        owner = parse_body(EndSessionsWrite, request).get("principal", caller_of(request).name)
        require_own_or(caller_of(request), Action.ACCESS_WRITE, owner)
        current = session_digest(request._request)
        return Response({"ended": sessions.end_sessions(owner, but=current, actor=actor_of(request))})


def session_digest(request: HttpRequest) -> bytes | None:
    """Return the digest of this request's session; None for a request with a token."""
    session = getattr(request, "session", None)
    by_token = "Authorization" in request.headers
    return session.digest if isinstance(session, SessionStore) and not by_token else None


def _person(request: Request) -> UUID:
    principal_id = caller_of(request).principal_id
    if principal_id is None:
        raise PermissionDenied("Anonymous readers have no password or sessions. Log in first.")
    return principal_id


def _show(session: Session, current: bytes | None) -> dict[str, Any]:
    session.is_current = bytes(session.digest) == current  # type: ignore[attr-defined]  # for the schema
    return dict(SessionRead(session).data)
