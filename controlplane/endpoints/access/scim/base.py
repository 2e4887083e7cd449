"""Base of all SCIM views: authentication by a token with the scope `scim`, errors, bodies and pages."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt
from pydantic import ValidationError
from scim2_models import Error, SCIMException

from controlplane import errors
from controlplane.access.authentication import authenticated, bearer_of, find_token
from controlplane.access.step_up import login_of_token
from controlplane.api.bodies import read_body
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.api.throttles import count_anonymous, count_token
from controlplane.errors import ControlplaneError, NotAuthenticated, PermissionDenied
from controlplane.formats.strict_json import parse_json
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.ceilings import SCIM
from controlplane.identity.roles import Action
from controlplane.observability.request_ids import current_request_id

_CONTENT_TYPE = "application/scim+json"
_DEFAULT_COUNT, MOST_RESULTS = 100, 200


@method_decorator(csrf_exempt, name="dispatch")
class ScimView(View):
    """Checks that the token allows SCIM, and shows errors as SCIM does."""

    actor: Actor

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            self.actor = _caller(request).actor(current_request_id())
            return super().dispatch(request, *args, **kwargs)
        except (ControlplaneError, SCIMException, ValidationError) as error:
            return _error_response(error)

    def http_method_not_allowed(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        status = HTTPStatus.METHOD_NOT_ALLOWED
        return respond(Error(status=status, detail="The resource does not support it.").model_dump(), status)

    def body(self, request: HttpRequest) -> Any:
        """Return the JSON of the request. Raises MalformedBody, BodyTooLarge."""
        return parse_json(read_body(request, settings.MAX_BODY_BYTES), max_depth=settings.MAX_JSON_DEPTH)


@dataclass(frozen=True, slots=True)
class ScimPage:
    """Some rows of a list. start: number of the first row, from 1."""

    rows: list[Any]
    start: int
    total: int


def page_of(request: HttpRequest, rows: QuerySet[Any]) -> ScimPage:
    """Return the page by `startIndex` and `count`. Raises InvalidRequest."""
    start = max(1, _number(request, "startIndex", 1))
    count = min(max(0, _number(request, "count", _DEFAULT_COUNT)), MOST_RESULTS)
    return ScimPage(list(rows[start - 1 : start - 1 + count]), start, rows.count())


def respond(document: Any, status: int = HTTPStatus.OK, *, location: str = "") -> HttpResponse:
    """Return a SCIM response."""
    response = HttpResponse(json.dumps(document), content_type=_CONTENT_TYPE, status=status)
    response.headers["Cache-Control"] = "no-store"
    if location:
        response.headers["Location"] = location
    return response


def _caller(request: HttpRequest) -> Caller:
    """Return the caller, whose role must allow administration of access and whose token must be for SCIM."""
    try:
        token = find_token(bearer_of(request.headers.get("Authorization", "")))
    except NotAuthenticated:
        count_anonymous(request)
        raise
    count_token(token)
    if SCIM not in (token.scopes or ()):
        raise PermissionDenied("The token lacks the scope `scim`. Create one with: manage.py scim_token")
    # Not cut by the token's scopes: `scim` allows nothing but this.
    caller = authenticated(token.principal, login=login_of_token(token))
    caller.require(Action.ACCESS_WRITE)
    return caller


def _error_response(error: ControlplaneError | SCIMException | ValidationError) -> HttpResponse:
    scim_error = _error_of(error)
    response = respond(scim_error.model_dump(), scim_error.status or HTTPStatus.BAD_REQUEST)
    if response.status_code == HTTPStatus.UNAUTHORIZED:
        response.headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, ControlplaneError) and (seconds := error.members.get("retry_after")) is not None:
        response.headers["Retry-After"] = str(seconds)
    return response


def _error_of(error: ControlplaneError | SCIMException | ValidationError) -> Error:
    if isinstance(error, ValidationError):
        return Error.from_validation_errors(error)[0]
    if isinstance(error, SCIMException):
        return error.to_error()
    is_invalid = isinstance(error, errors.InvalidRequest | errors.MalformedBody)
    return Error(
        status=int(STATUS_BY_ERROR[type(error)]),
        scim_type="uniqueness"
        if isinstance(error, errors.NameTaken)
        else ("invalidValue" if is_invalid else None),
        detail=error.detail,
    )


def _number(request: HttpRequest, name: str, default: int) -> int:
    text = request.GET.get(name, "")
    if not text:
        return default
    if len(text) > 9 or not text.removeprefix("-").isdecimal() or not text.isascii():
        message = f"{name} must be a number."
        raise errors.InvalidRequest(
            message, errors=[errors.FieldError(f"query:{name}", "malformed", message)]
        )
    return int(text)
