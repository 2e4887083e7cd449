"""Requests and responses of the protocol: forms in, JSON out, errors as RFC 6749 section 5.2 defines them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from controlplane.access import login_event_types
from controlplane.access.oauth import limits
from controlplane.access.oauth.client_authentication import authenticate, find_client
from controlplane.access.oauth.credentials import Credentials, read_credentials
from controlplane.access.oauth.extension_grants import OAuthError
from controlplane.access.oauth.models import OAuthClient
from controlplane.access.occurrences import cut_name, record_occurrence
from controlplane.api.problems import database_detail, database_problem, plain_response, retry_after
from controlplane.errors import NotFound
from controlplane.identity.actors import Actor
from controlplane.observability.request_ids import current_request_id
from controlplane.web.client_address import address_of

_FORM = "application/x-www-form-urlencoded"
_MAX_BYTES = 64 * 1024
# RFC 8707 and RFC 8693 allow these more than once.
_REPEATABLE = frozenset({"resource", "audience"})
_POLLING = frozenset({"authorization_pending", "slow_down"})
log = structlog.get_logger(__name__)

View = Callable[[HttpRequest], HttpResponse]


def self_mode(view: View) -> View:
    """Serve the view only if this server issues tokens."""

    @wraps(view)
    def run(request: HttpRequest) -> HttpResponse:
        if "self" not in settings.AUTH_SERVER:
            return plain_response(NotFound("This server issues no tokens. Its operator uses another issuer."))
        return view(request)

    return run


def protocol_endpoint(view: View) -> View:
    """Serve a POST endpoint of the protocol: limited, never cached, with OAuth errors."""

    @csrf_exempt
    @self_mode
    @wraps(view)
    def run(request: HttpRequest) -> HttpResponse:
        if request.method != "POST":
            response = error_response(OAuthError("invalid_request", "Use POST.", status=405))
            response["Allow"] = "POST"
            return response
        try:
            _check_form(request)
        except OAuthError as error:
            return error_response(error)
        return _limited(view, request)

    return run


def _limited(view: View, request: HttpRequest) -> HttpResponse:
    client_id, address = credentials_of(request).client_id, address_of(request)
    if limits.count_request(client_id, address):
        log.warning("oauth.rate_limited", client=cut_name(client_id), address=address)
        message = "Too many failed requests. Try again in a minute."
        refusal = error_response(OAuthError("temporarily_unavailable", message, status=429))
        refusal["Retry-After"] = str(limits.WINDOW_SECONDS)
        return refusal
    response = _answer(view, request)
    error = getattr(response, "oauth_error", "")
    if response.status_code < HTTPStatus.BAD_REQUEST or error in _POLLING:
        limits.forgive(client_id, address)
    if error == "invalid_client":
        _record_denial(client_id)
    return response


def _answer(view: View, request: HttpRequest) -> HttpResponse:
    try:
        return view(request)
    except OAuthError as error:
        return error_response(error)
    except (OperationalError, InterfaceError) as failure:
        code = database_problem(failure) or "database_unavailable"
        log.warning(f"database.{code.removeprefix('database_')}", error=str(failure).strip())
        message = database_detail(failure, code)
        response = error_response(OAuthError("temporarily_unavailable", message, status=503))
        response["Retry-After"] = retry_after(failure)
        return response


def json_response(body: dict[str, Any], status: int = 200) -> JsonResponse:
    """Return a response that nobody may cache. An error must be answered once, and fast."""
    response = JsonResponse(body, status=status)
    response["Cache-Control"] = "no-store"
    response["Pragma"] = "no-cache"
    if status == HTTPStatus.UNAUTHORIZED:
        response["WWW-Authenticate"] = 'Basic realm="oauth2", charset="UTF-8"'
    response.oauth_error = body.get("error", "")  # type: ignore[attr-defined]  # for the limits
    return response


def error_response(error: OAuthError) -> JsonResponse:
    body = {"error": error.error}
    if error.description:
        body["error_description"] = error.description
    return json_response(body, error.status)


def credentials_of(request: HttpRequest) -> Credentials:
    return read_credentials(request.headers.get("Authorization", ""), request.POST.dict())


def require_client(request: HttpRequest) -> OAuthClient:
    """Return the authenticated client. Raises OAuthError invalid_client."""
    client = authenticate(credentials_of(request))
    if client is None:
        raise invalid_client()
    return client


def invalid_client() -> OAuthError:
    return OAuthError("invalid_client", "Client authentication failed.", status=HTTPStatus.UNAUTHORIZED)


def _check_form(request: HttpRequest) -> None:
    length = request.headers.get("Content-Length") or "0"
    if not length.isdigit() or int(length) > _MAX_BYTES:
        raise OAuthError("invalid_request", "The request is too large.", status=413)
    if (request.content_type or "").lower() != _FORM:
        raise OAuthError("invalid_request", f"Send the parameters as {_FORM}.")
    repeated = [name for name, values in request.POST.lists() if len(values) > 1 and name not in _REPEATABLE]
    if repeated:
        raise OAuthError("invalid_request", "A parameter is repeated.")
    if any("\0" in value for values in dict(request.POST.lists()).values() for value in values):
        raise OAuthError("invalid_request", "A parameter contains a NUL character.")


def _record_denial(client_id: str) -> None:
    client = find_client(client_id)
    if client is None:
        log.warning("oauth.unknown_client", client=cut_name(client_id))
        return
    record_occurrence(
        login_event_types.OAUTH_CLIENT_DENIED,
        client.client_id,
        actor=Actor(None, cut_name(client.client_id), current_request_id(), client=client.client_id),
        data={"client": client.client_id, "reason": "incorrect secret"},
    )
