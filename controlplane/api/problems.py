"""Problem documents (RFC 9457): the mapping from errors to HTTP responses."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus
from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.db import InterfaceError, OperationalError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from controlplane import errors
from controlplane.api.challenges import challenge_for
from controlplane.api.fields import INVALID, field_errors
from controlplane.database.changes import ChangesRefused
from controlplane.database.commit import OutcomeUnknown
from controlplane.observability.request_ids import current_request_id

CONTENT_TYPE = "application/problem+json"
_RETRY_AFTER_SECONDS = "2"
_PAUSE_RETRY_AFTER_SECONDS = "10"
# By what `database_problem` returns. Flyte's paths answer the same in their own format.
DATABASE_DETAILS = {
    "database_unavailable": "The database did not respond in time, and nothing was changed. Try again.",
    "read_only": "The database accepts no changes now, and nothing was changed. Reads work. Try again.",
    "outcome_unknown": "The database did not confirm the change in time: it may have been saved or not."
    " Repeat the request with the same Idempotency-Key, or read the current state first.",
}
_PAUSED = "Changes are paused: {reason}. Nothing was changed, and reads work. Try again later."
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
    errors.NotIndependent: HTTPStatus.FORBIDDEN,
    errors.InsecureTransport: HTTPStatus.FORBIDDEN,
    errors.NotFound: HTTPStatus.NOT_FOUND,
    errors.UnknownProject: HTTPStatus.NOT_FOUND,
    errors.UnknownDomain: HTTPStatus.NOT_FOUND,
    errors.UnknownResourceType: HTTPStatus.NOT_FOUND,
    errors.UnknownResource: HTTPStatus.NOT_FOUND,
    errors.UnknownOverride: HTTPStatus.NOT_FOUND,
    errors.UnknownVersion: HTTPStatus.NOT_FOUND,
    errors.UnknownGuardRail: HTTPStatus.NOT_FOUND,
    errors.UnknownOverrideFreeze: HTTPStatus.NOT_FOUND,
    errors.UnknownOverrideChange: HTTPStatus.NOT_FOUND,
    errors.UnknownAgentBulkChange: HTTPStatus.NOT_FOUND,
    errors.UnknownOperation: HTTPStatus.NOT_FOUND,
    errors.UnknownApprovalPolicy: HTTPStatus.NOT_FOUND,
    errors.UnknownChangeRequest: HTTPStatus.NOT_FOUND,
    errors.UnknownAgent: HTTPStatus.NOT_FOUND,
    errors.UnknownProvider: HTTPStatus.NOT_FOUND,
    errors.UnknownTaskType: HTTPStatus.NOT_FOUND,
    errors.UnknownResource: HTTPStatus.NOT_FOUND,
    errors.UnknownDeadLetter: HTTPStatus.NOT_FOUND,
    errors.UnknownEnvironment: HTTPStatus.NOT_FOUND,
    errors.UnknownAgentConfig: HTTPStatus.NOT_FOUND,
    errors.UnknownGrant: HTTPStatus.NOT_FOUND,
    errors.UnknownTeam: HTTPStatus.NOT_FOUND,
    errors.UnknownDataPlane: HTTPStatus.NOT_FOUND,
    errors.UnknownAgentConfigCluster: HTTPStatus.NOT_FOUND,
    errors.UnknownBundle: HTTPStatus.NOT_FOUND,
    errors.InvalidAgentConfig: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.UnknownPrincipal: HTTPStatus.NOT_FOUND,
    errors.UnknownToken: HTTPStatus.NOT_FOUND,
    errors.UnknownRoleBinding: HTTPStatus.NOT_FOUND,
    errors.UnknownTrustedIssuer: HTTPStatus.NOT_FOUND,
    errors.UnknownSink: HTTPStatus.NOT_FOUND,
    errors.UnknownPool: HTTPStatus.NOT_FOUND,
    errors.UnknownLease: HTTPStatus.NOT_FOUND,
    errors.UnknownPoolLimit: HTTPStatus.NOT_FOUND,
    errors.TokenInUse: HTTPStatus.CONFLICT,
    errors.LeaseLost: HTTPStatus.CONFLICT,
    errors.PoolExhausted: HTTPStatus.TOO_MANY_REQUESTS,
    errors.UnknownDelivery: HTTPStatus.NOT_FOUND,
    errors.UnknownNotificationRule: HTTPStatus.NOT_FOUND,
    errors.UnknownNotificationChannel: HTTPStatus.NOT_FOUND,
    errors.UnknownAlert: HTTPStatus.NOT_FOUND,
    errors.UnknownPluginConfig: HTTPStatus.NOT_FOUND,
    errors.UnknownPlugin: HTTPStatus.NOT_FOUND,
    errors.UnknownPluginRelease: HTTPStatus.NOT_FOUND,
    errors.UnknownPluginSecret: HTTPStatus.NOT_FOUND,
    errors.UnknownPluginArtifact: HTTPStatus.NOT_FOUND,
    errors.UnknownJob: HTTPStatus.NOT_FOUND,
    errors.UnknownJobRun: HTTPStatus.NOT_FOUND,
    errors.UnknownJobSecret: HTTPStatus.NOT_FOUND,
    errors.UnknownEventType: HTTPStatus.NOT_FOUND,
    errors.UnknownRole: HTTPStatus.NOT_FOUND,
    errors.UnknownMember: HTTPStatus.NOT_FOUND,
    errors.UnknownOrganisation: HTTPStatus.NOT_FOUND,
    errors.UnknownOAuthClient: HTTPStatus.NOT_FOUND,
    errors.UnknownDevice: HTTPStatus.NOT_FOUND,
    errors.UnknownClientSecret: HTTPStatus.NOT_FOUND,
    errors.Conflict: HTTPStatus.CONFLICT,
    errors.NameTaken: HTTPStatus.CONFLICT,
    errors.DeliveryLoop: HTTPStatus.CONFLICT,
    errors.ReleaseNotUsable: HTTPStatus.CONFLICT,
    errors.DuplicateInstance: HTTPStatus.CONFLICT,
    errors.ServiceTypeTaken: HTTPStatus.CONFLICT,
    errors.StillInUse: HTTPStatus.CONFLICT,
    errors.ManagedElsewhere: HTTPStatus.CONFLICT,
    errors.PatchFailed: HTTPStatus.CONFLICT,
    errors.SourceIsReadOnly: HTTPStatus.CONFLICT,
    errors.ChangeFrozen: HTTPStatus.CONFLICT,
    errors.ApprovalRequired: HTTPStatus.CONFLICT,
    errors.PlanDrifted: HTTPStatus.CONFLICT,
    errors.LastAdministrator: HTTPStatus.CONFLICT,
    errors.BuiltInRole: HTTPStatus.CONFLICT,
    errors.OrganisationsOff: HTTPStatus.CONFLICT,
    errors.LimitReached: HTTPStatus.CONFLICT,
    errors.QuotaExceeded: HTTPStatus.CONFLICT,
    errors.KeyInFlight: HTTPStatus.CONFLICT,
    errors.KeyReused: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.VersionMismatch: HTTPStatus.PRECONDITION_FAILED,
    errors.VersionRequired: HTTPStatus.PRECONDITION_REQUIRED,
    errors.StepUpRequired: HTTPStatus.UNAUTHORIZED,
    errors.UnknownIdentityProvider: HTTPStatus.NOT_FOUND,
    errors.UnknownIdentity: HTTPStatus.NOT_FOUND,
    errors.LoginRefused: HTTPStatus.FORBIDDEN,
    errors.TooManyGroups: HTTPStatus.FORBIDDEN,
    errors.RedirectNotAllowed: HTTPStatus.FORBIDDEN,
    errors.InvalidIdentityProvider: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.SettingIsReadOnly: HTTPStatus.CONFLICT,
    errors.SecretsUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.RemoteFailed: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.UnknownJoinToken: HTTPStatus.NOT_FOUND,
    errors.AgentRetired: HTTPStatus.GONE,
    errors.EventsGone: HTTPStatus.GONE,
    errors.IssuerUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.TooManyAttempts: HTTPStatus.TOO_MANY_REQUESTS,
}


def problem_response(exc: Exception, context: dict[str, Any]) -> Response | None:
    """Return the response for an exception, for DRF. None means a bug, for which Django responds 500."""
    if isinstance(exc, errors.ControlplaneError):
        # Without it, the transaction would be committed, since the exception is handled here.
        set_rollback()
        request = context.get("request")
        return _own_error_response(exc, has_token=request is not None and "Authorization" in request.headers)
    if (code := database_problem(exc)) is not None:
        set_rollback()
        log.warning(f"database.{code.removeprefix('database_')}", error=str(exc).strip())
        return _database_response(exc, code)
    if isinstance(exc, exceptions.APIException):
        set_rollback()
        return _framework_error_response(exc)
    return None


def problem(
    status: int,
    code: str,
    title: str,
    detail: str,
    *,
    field_errors: tuple[errors.FieldError, ...] = (),
    members: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a problem document. members: extension members (RFC 9457 section 3.2)."""
    return {
        "type": f"/problems/{code}",
        "title": title,
        "status": int(status),
        "code": code,
        "detail": detail,
        "docs_url": f"{settings.PUBLIC_URL}/problems/{code}",
        "errors": [{k: v for k, v in asdict(error).items() if v or k == "pointer"} for error in field_errors],
        "request_id": current_request_id(),
        **(members or {}),
    }


def problem_of(error: errors.ControlplaneError) -> dict[str, Any]:
    """Return the problem document of an error."""
    status = STATUS_BY_ERROR[type(error)]
    return problem(
        status, error.code, error.title, error.detail, field_errors=error.errors, members=error.members
    )


def plain_response(error: errors.ControlplaneError) -> HttpResponse:
    """Return the response for an error outside of DRF: in middleware and Django's error views."""
    status = STATUS_BY_ERROR[type(error)]
    return JsonResponse(problem_of(error), status=status, content_type=CONTENT_TYPE)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return a problem document for an unknown path: Django's handler404."""
    return plain_response(
        errors.NotFound(f"{request.path} does not exist. See the API reference at /api/v1/docs.")
    )


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return a problem document for a request that Django rejects, such as an unknown Host: handler400."""
    if isinstance(exception, DisallowedHost):
        return plain_response(
            errors.InvalidRequest(
                "The host name of the request is not allowed. Ask the operator to add it to ALLOWED_HOSTS.",
                errors=[
                    errors.FieldError("header:Host", "unknown_host", "The host name is not in ALLOWED_HOSTS.")
                ],
            )
        )
    return plain_response(errors.InvalidRequest("The request is malformed."))


def server_error(request: HttpRequest) -> HttpResponse:
    """Return a problem document for a bug: handler500. Only the log has the cause, under the request id."""
    document = problem(
        500,
        "internal_error",
        "Internal Server Error",
        "An unexpected error occurred. Give the request_id to your operator, who finds the cause in the log.",
    )
    return JsonResponse(document, status=500, content_type=CONTENT_TYPE)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return plain_response(
        errors.PermissionDenied(
            "The form's CSRF token is missing or expired. Reload the page and submit the form again."
        )
    )


def _own_error_response(exc: errors.ControlplaneError, *, has_token: bool = False) -> Response:
    status, document = STATUS_BY_ERROR[type(exc)], problem_of(exc)
    headers = {}
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = challenge_for(exc, has_token=has_token)
    if (seconds := exc.members.get("retry_after")) is not None:
        headers["Retry-After"] = str(seconds)
    return Response(document, status=status, content_type=CONTENT_TYPE, headers=headers)


def database_problem(exc: Exception) -> str | None:
    """Return the code of a problem of Postgres: what the caller may conclude from it. None: it is another."""
    if isinstance(exc, OutcomeUnknown):
        return "outcome_unknown"
    if isinstance(exc, ChangesRefused):
        # Perhaps a former primary: the next request looks for the one that accepts writes.
        if exc.reason is None and not connection.in_atomic_block:
            connection.close()
        return "read_only"
    return "database_unavailable" if isinstance(exc, OperationalError | InterfaceError) else None


def database_detail(exc: Exception, code: str) -> str:
    """Return what the caller reads about a problem of Postgres, by what `database_problem` returned."""
    reason = exc.reason if isinstance(exc, ChangesRefused) else None
    return DATABASE_DETAILS[code] if reason is None else _PAUSED.format(reason=reason)


def retry_after(exc: Exception) -> str:
    """Return the seconds after which a request that met a problem of Postgres may be sent again."""
    is_pause = isinstance(exc, ChangesRefused) and exc.reason is not None
    return _PAUSE_RETRY_AFTER_SECONDS if is_pause else _RETRY_AFTER_SECONDS


def _database_response(exc: Exception, code: str) -> Response:
    document = problem(503, code, "Service Unavailable", database_detail(exc, code))
    headers = {"Retry-After": retry_after(exc)}
    return Response(document, status=503, content_type=CONTENT_TYPE, headers=headers)


def _framework_error_response(exc: exceptions.APIException) -> Response:
    if isinstance(exc, exceptions.ValidationError):
        return _own_error_response(errors.InvalidRequest(INVALID, errors=field_errors(exc.detail)))
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
