"""Problem documents (RFC 9457): the one place that knows both our errors and HTTP."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus
from typing import Any

import structlog
from django.core.exceptions import DisallowedHost
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from controlplane import errors
from controlplane.api.fields import field_errors
from controlplane.observability.request_ids import current_request_id

CONTENT_TYPE = "application/problem+json"
_RETRY_AFTER_SECONDS = "2"
log = structlog.get_logger(__name__)

STATUS_BY_ERROR: dict[type[errors.ControlplaneError], HTTPStatus] = {
    errors.InvalidRequest: HTTPStatus.BAD_REQUEST,
    errors.MalformedBody: HTTPStatus.BAD_REQUEST,
    errors.BodyTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    errors.InvalidCursor: HTTPStatus.BAD_REQUEST,
    errors.InvalidScope: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.InvalidAttributes: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.LevelNotAllowed: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.InheritedConflict: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.RailBroken: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.InvalidTypeDefinition: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.InvalidProvider: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.ConfirmationRequired: HTTPStatus.CONFLICT,
    errors.NotAuthenticated: HTTPStatus.UNAUTHORIZED,
    errors.PermissionDenied: HTTPStatus.FORBIDDEN,
    errors.InsecureTransport: HTTPStatus.FORBIDDEN,
    errors.NotFound: HTTPStatus.NOT_FOUND,
    errors.UnknownProject: HTTPStatus.NOT_FOUND,
    errors.UnknownDomain: HTTPStatus.NOT_FOUND,
    errors.UnknownResourceType: HTTPStatus.NOT_FOUND,
    errors.UnknownOverride: HTTPStatus.NOT_FOUND,
    errors.UnknownVersion: HTTPStatus.NOT_FOUND,
    errors.UnknownGuardRail: HTTPStatus.NOT_FOUND,
    errors.UnknownAgent: HTTPStatus.NOT_FOUND,
    errors.UnknownProvider: HTTPStatus.NOT_FOUND,
    errors.UnknownTaskType: HTTPStatus.NOT_FOUND,
    errors.UnknownEnvironment: HTTPStatus.NOT_FOUND,
    errors.UnknownAgentConfig: HTTPStatus.NOT_FOUND,
    errors.UnknownGrant: HTTPStatus.NOT_FOUND,
    errors.UnknownTeam: HTTPStatus.NOT_FOUND,
    errors.UnknownDataPlane: HTTPStatus.NOT_FOUND,
    errors.UnknownBundle: HTTPStatus.NOT_FOUND,
    errors.InvalidAgentConfig: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.UnknownPrincipal: HTTPStatus.NOT_FOUND,
    errors.UnknownToken: HTTPStatus.NOT_FOUND,
    errors.UnknownRoleBinding: HTTPStatus.NOT_FOUND,
    errors.Conflict: HTTPStatus.CONFLICT,
    errors.NameTaken: HTTPStatus.CONFLICT,
    errors.DuplicateInstance: HTTPStatus.CONFLICT,
    errors.ServiceTypeTaken: HTTPStatus.CONFLICT,
    errors.StillInUse: HTTPStatus.CONFLICT,
    errors.ManagedElsewhere: HTTPStatus.CONFLICT,
    errors.PatchFailed: HTTPStatus.CONFLICT,
    errors.SourceIsReadOnly: HTTPStatus.CONFLICT,
    errors.LastAdministrator: HTTPStatus.CONFLICT,
    errors.LimitReached: HTTPStatus.CONFLICT,
    errors.KeyInFlight: HTTPStatus.CONFLICT,
    errors.KeyReused: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.VersionMismatch: HTTPStatus.PRECONDITION_FAILED,
    errors.VersionRequired: HTTPStatus.PRECONDITION_REQUIRED,
    errors.RemoteFailed: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.UnknownJoinToken: HTTPStatus.NOT_FOUND,
    errors.AgentRetired: HTTPStatus.GONE,
    errors.EventsGone: HTTPStatus.GONE,
    errors.TooManyAttempts: HTTPStatus.TOO_MANY_REQUESTS,
}


def problem_response(exc: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler. None means a bug, which Django logs and answers 500."""
    if isinstance(exc, errors.ControlplaneError):
        # Answering instead of re-raising would otherwise commit what was written so far.
        set_rollback()
        return _ours(exc)
    if isinstance(exc, OperationalError | InterfaceError):
        set_rollback()
        log.warning("database.unavailable", error=str(exc).strip())
        return _unavailable()
    if isinstance(exc, exceptions.APIException):
        set_rollback()
        return _frameworks(exc)
    return None


def problem(
    status: int,
    code: str,
    title: str,
    detail: str,
    *,
    found: tuple[errors.FieldError, ...] = (),
    members: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the document. `members` are extension members (RFC 9457 section 3.2)."""
    return {
        "type": f"/problems/{code}",
        "title": title,
        "status": int(status),
        "code": code,
        "detail": detail,
        "errors": [{k: v for k, v in asdict(one).items() if v or k == "pointer"} for one in found],
        "request_id": current_request_id(),
        **(members or {}),
    }


def plain_response(error: errors.ControlplaneError) -> HttpResponse:
    """The same for code outside of DRF: middleware and Django's own error views."""
    status = STATUS_BY_ERROR[type(error)]
    document = problem(
        status, error.code, error.title, error.detail, found=error.errors, members=error.members
    )
    return JsonResponse(document, status=status, content_type=CONTENT_TYPE)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler404: a problem document, for pages too, since a console page never links to nothing."""
    return plain_response(
        errors.NotFound(f"There is nothing at {request.path}. The API is described at /api/v1/docs.")
    )


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler400: what Django itself refuses, above all a Host that is not ours."""
    if isinstance(exception, DisallowedHost):
        return plain_response(
            errors.InvalidRequest(
                "We do not answer to the host name that you used. Its operator can add it to ALLOWED_HOSTS.",
                errors=[errors.FieldError("header:Host", "unknown_host", "It is not in ALLOWED_HOSTS.")],
            )
        )
    return plain_response(errors.InvalidRequest("The request could not be read."))


def server_error(request: HttpRequest) -> HttpResponse:
    """handler500. The cause is in the log under the request's id, never in the answer."""
    document = problem(
        500,
        "internal_error",
        "Internal Server Error",
        "Tell your operator the request_id; the log has the cause.",
    )
    return JsonResponse(document, status=500, content_type=CONTENT_TYPE)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return plain_response(
        errors.PermissionDenied("The form's CSRF token is missing or old. Reload the page and send it again.")
    )


def _ours(exc: errors.ControlplaneError) -> Response:
    status = STATUS_BY_ERROR[type(exc)]
    document = problem(status, exc.code, exc.title, exc.detail, found=exc.errors, members=exc.members)
    headers = {"WWW-Authenticate": "Bearer"} if status == HTTPStatus.UNAUTHORIZED else {}
    if (seconds := exc.members.get("retry_after")) is not None:
        headers["Retry-After"] = str(seconds)
    return Response(document, status=status, content_type=CONTENT_TYPE, headers=headers)


def _unavailable() -> Response:
    document = problem(
        503,
        "database_unavailable",
        "Service Unavailable",
        "The database did not answer in time. Nothing was changed.",
    )
    headers = {"Retry-After": _RETRY_AFTER_SECONDS}
    return Response(document, status=503, content_type=CONTENT_TYPE, headers=headers)


def _frameworks(exc: exceptions.APIException) -> Response:
    if isinstance(exc, exceptions.ValidationError):
        return _ours(
            errors.InvalidRequest(
                "The request is not valid; `errors` lists all that is wrong.",
                errors=field_errors(exc.detail),
            )
        )
    status = HTTPStatus(exc.status_code)
    detail = str(exc.detail)
    if isinstance(exc, exceptions.UnsupportedMediaType):
        detail = "Send the body as JSON, with the header Content-Type: application/json."
    response = Response(
        problem(status, status.name.lower(), status.phrase, detail),
        status=status,
        content_type=CONTENT_TYPE,
    )
    if wait := getattr(exc, "wait", None):
        response["Retry-After"] = str(int(wait) + 1)
    return response
