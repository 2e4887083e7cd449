"""HTTP endpoints that clients read before they log in: metadata and client configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from flyteidl.service import auth_pb2

from controlplane.api.throttles import count_anonymous
from controlplane.endpoints.access.oauth.documents import authorization_server
from controlplane.errors import ControlplaneError
from overrides.flyte import calls
from overrides.flyte.errors import HTTP_STATUS, FlyteError, from_ours
from overrides.flyte.marshalers import Marshaler

_MARSHALERS = {each.value: each for each in Marshaler}


@csrf_exempt
def client_config(request: HttpRequest) -> HttpResponse:
    """`/config/v1/flyte_client`: with which client to log in."""
    message = auth_pb2.PublicClientAuthConfigRequest()
    return _answer(request, lambda marshaler: _dump(marshaler, "GetPublicClientConfig", message))


@csrf_exempt
def oauth2_metadata(request: HttpRequest) -> HttpResponse:
    """`/.well-known/oauth-authorization-server` (RFC 8414): the whole document, or Flyte's message."""
    message = auth_pb2.OAuth2MetadataRequest()

    def respond(marshaler: Marshaler) -> HttpResponse:
        if marshaler is Marshaler.SNAKE_JSON:
            return authorization_server(request)
        return _dump(marshaler, "GetOAuth2Metadata", message)

    return _answer(request, respond)


def marshaler_for(accept: str) -> Marshaler:
    """Return the marshaler of a response: snake_case, as RFC 8414 requires, unless Accept names another."""
    return _MARSHALERS.get(accept.strip(), Marshaler.SNAKE_JSON)


def _dump(marshaler: Marshaler, rpc: str, message: Any) -> HttpResponse:
    response = calls.answer(rpc, message, authorization="", transport="http")
    return HttpResponse(marshaler.dump(response), content_type=marshaler.content_type)


def _answer(request: HttpRequest, respond: Callable[[Marshaler], HttpResponse]) -> HttpResponse:
    marshaler = marshaler_for(request.META.get("HTTP_ACCEPT", ""))
    try:
        count_anonymous(request)
        response = respond(marshaler)
    except (ControlplaneError, FlyteError) as failure:
        error = failure if isinstance(failure, FlyteError) else from_ours(failure)
        response = HttpResponse(
            marshaler.dump(error.status()),
            status=HTTP_STATUS[error.code],
            content_type=marshaler.content_type,
        )
        if error.retry_after:
            response["Retry-After"] = str(error.retry_after)
    response.setdefault("Cache-Control", "no-store")
    return response
