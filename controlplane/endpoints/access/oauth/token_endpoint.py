"""The token, device, revocation and introspection endpoints."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from oauth2_provider.oauth2_backends import OAuthLibCore, get_oauthlib_core
from oauthlib.common import Request
from oauthlib.oauth2 import OAuth2Error

from controlplane.access.oauth import device_codes, extension_grants
from controlplane.access.oauth.client_authentication import authenticate
from controlplane.access.oauth.extension_grants import Handler, IssuedToken, OAuthError, RequestFacts
from controlplane.access.oauth.introspection import describe_token
from controlplane.access.oauth.metadata import DEVICE_GRANT
from controlplane.endpoints.access.oauth.protocol import (
    credentials_of,
    error_response,
    invalid_client,
    json_response,
    protocol_endpoint,
    require_client,
)
from controlplane.observability.request_ids import current_request_id
from controlplane.web.client_address import address_of


@protocol_endpoint
def token(request: HttpRequest) -> HttpResponse:
    """Exchange a grant for tokens. The response is built before the transaction is committed."""
    grant_type = request.POST.get("grant_type", "")
    if not grant_type:
        raise OAuthError("invalid_request", "The parameter grant_type is missing.")
    if handler := extension_grants.handler_of(grant_type):
        return _extension(request, handler)
    with transaction.atomic():
        _, _, body, status = _core().create_token_response(request)
        return _engine_response(body, status)


@protocol_endpoint
def device_authorization(request: HttpRequest) -> HttpResponse:
    """Start the login of a device without a browser (RFC 8628 section 3.1)."""
    core = _core()
    uri, method, body, headers = core._extract_params(request)
    device_request = Request(uri, method, body, headers)
    client = require_client(request)
    if not client.allows_grant_type(DEVICE_GRANT):
        raise OAuthError("unauthorized_client", "The client may not use device codes.")
    device_request.client, device_request.client_id = client, client.client_id
    try:
        core.server.device_codes.validate_scopes(device_request)
    except OAuth2Error as error:
        raise OAuthError(error.error, error.description or "") from error
    codes = device_codes.create_device_code(
        client,
        device_request.scopes,
        audience=request.POST.get("audience", ""),
        address=address_of(request),
        device=_printable(request.headers.get("User-Agent", "")),
    )
    page = settings.PUBLIC_URL + reverse("device")
    return json_response(
        {
            "device_code": codes.device_code,
            "user_code": codes.user_code,
            "verification_uri": page,
            "verification_uri_complete": f"{page}?user_code={codes.user_code}",
            "expires_in": codes.expires_in,
            "interval": codes.interval,
        }
    )


@protocol_endpoint
def revoke(request: HttpRequest) -> HttpResponse:
    """Revoke a token of the client (RFC 7009)."""
    with transaction.atomic():
        _, _, body, status = _core().create_revocation_response(request)
    return _engine_response(body or "{}", status)


@protocol_endpoint
def introspect(request: HttpRequest) -> HttpResponse:
    """Describe a token to its client, or to a client that may introspect all tokens (RFC 7662)."""
    client = require_client(request)
    secret = request.POST.get("token", "")
    if not secret:
        raise OAuthError("invalid_request", "The parameter token is missing.")
    description = describe_token(secret, client)
    if description is None:
        message = "The client may introspect only its own tokens."
        raise OAuthError("access_denied", message, status=HTTPStatus.FORBIDDEN)
    return json_response(description)


def _extension(request: HttpRequest, handler: Handler) -> HttpResponse:
    credentials = credentials_of(request)
    client = authenticate(credentials)
    if client is None and (credentials.client_ids or credentials.is_basic):
        raise invalid_client()
    parameters = {name: str(value) for name, value in request.POST.items() if name != "client_secret"}
    with transaction.atomic():
        try:
            issued = handler(parameters, client, RequestFacts(address_of(request), current_request_id()))
        except OAuthError as error:
            # What the handler recorded about the refusal is committed.
            return error_response(error)
        return json_response(_answer_of(issued))


def _answer_of(issued: IssuedToken) -> dict[str, Any]:
    answer = {
        "access_token": issued.access_token,
        "token_type": issued.token_type,
        "expires_in": issued.expires_in,
        "scope": issued.scope,
    }
    return answer | ({"issued_token_type": issued.issued_token_type} if issued.issued_token_type else {})


def _engine_response(body: str, status: int) -> HttpResponse:
    """Return the engine's response with our headers."""
    content = json.loads(body)
    if content.get("error") == "invalid_client":
        return error_response(invalid_client())
    return json_response(content, status)


def _core() -> OAuthLibCore:
    return get_oauthlib_core()


def _printable(text: str) -> str:
    return "".join(character for character in text if character.isprintable())
