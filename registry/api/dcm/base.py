"""What all views of DCM's paths share: tokens, pages and errors in DCM's form.

Wire contract: environment-agents.md 2.1, 2.8, 5.4.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, ClassVar

from django.conf import settings
from django.core import signing
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView, set_rollback

from controlplane.access.authentication import TokenAuthentication
from controlplane.access.oauth import metadata
from controlplane.api.fields import field_errors
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.errors import ControlplaneError, InvalidRequest, NotAuthenticated
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action

_MAX_PAGE_SIZE = 100
# The `type` of RFC 7807 problems, as sent by DCM's control plane.
_SLUGS = {
    400: "validation-error",
    401: "unauthorized",
    403: "forbidden",
    404: "not-found",
    409: "conflict",
    410: "not-found",
    413: "validation-error",
    422: "provisioning-error",
    503: "unavailable",
}


class DcmView(APIView):
    """A view of DCM. actions: required by method. tokenless: methods that need no token with DCM_AGENTS."""

    authentication_classes = (TokenAuthentication,)
    permission_classes = ()
    schema = None
    actions: ClassVar[dict[str, Action]] = {}
    tokenless: ClassVar[frozenset[str]] = frozenset()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        method = request.method or ""
        if method not in self.actions:
            return  # answered with 405 by the caller
        if isinstance(request.user, Caller):
            self.require(request.user, self.actions[method])
        elif not (settings.DCM_AGENTS and method in self.tokenless):
            raise NotAuthenticated(
                "The request has no token. Send Authorization: Bearer cp_agt_… (DCM_AUTH_TOKEN)."
            )

    def require(self, caller: Caller, action: Action) -> None:
        """Raise PermissionDenied if the caller cannot perform the action on any object."""
        caller.require_for_some_owner(action)

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, ControlplaneError):
            set_rollback()
            return problem(int(STATUS_BY_ERROR[type(exc)]), exc.detail, self.request.path)
        if isinstance(exc, serializers.ValidationError):
            return problem(400, _text_of(exc), self.request.path)
        return super().handle_exception(exc)


def parse_known(
    serializer: type[Any], request: Request, defaults: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Parse known fields. A DCM client may send more fields, and null for those that are not set."""
    if not isinstance(request.data, dict):
        raise InvalidRequest("The body must be a JSON object.")
    fields = {name: request.data[name] for name in serializer().fields if request.data.get(name) is not None}
    parsed = serializer(data={**fields, **(defaults or {})})
    parsed.is_valid(raise_exception=True)
    return dict(parsed.validated_data)


def page_size(text: str) -> int:
    if not text:
        return _MAX_PAGE_SIZE
    # int() fails for thousands of digits.
    is_number = text.isascii() and text.isdecimal() and len(text) < 10
    if not (is_number and 1 <= int(text) <= _MAX_PAGE_SIZE):
        raise InvalidRequest(f"max_page_size must be from 1 to {_MAX_PAGE_SIZE}")
    return int(text)


def page_token(key: str, salt: str) -> str:
    return signing.dumps(key, salt=salt)


def read_page_token(token: str, salt: str) -> str:
    try:
        return str(signing.loads(token, salt=salt))
    except signing.BadSignature as error:
        raise InvalidRequest("invalid page_token") from error


def _text_of(error: serializers.ValidationError) -> str:
    return " ".join(f"{one.pointer}: {one.message}" for one in field_errors(error.detail))


def _challenge() -> str:
    return metadata.challenge(settings.PUBLIC_URL, is_invalid=False)


def problem(status: int, detail: str, instance: str) -> Response:
    slug = _SLUGS.get(status, "internal-error")
    body = {"type": slug, "title": slug.replace("-", " "), "status": status, "detail": detail}
    return Response(
        {**body, "instance": instance},
        status=status,
        content_type="application/problem+json",
        headers={"WWW-Authenticate": _challenge()} if status == HTTPStatus.UNAUTHORIZED else None,
    )
