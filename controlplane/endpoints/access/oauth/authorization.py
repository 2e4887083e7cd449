"""The authorization endpoint: validates requests of clients, and sends people back with a code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import structlog
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe
from oauth2_provider.exceptions import OAuthToolkitError
from oauth2_provider.oauth2_backends import _add_iss_to_redirect, get_oauthlib_core
from oauthlib.oauth2 import AccessDeniedError, FatalClientError

from controlplane.access.models import Principal, PrincipalKind
from controlplane.access.oauth.consents import needs_consent, record_consent
from controlplane.access.oauth.models import OAuthClient
from controlplane.access.occurrences import cut_name
from controlplane.access.step_up import login_of_session
from controlplane.endpoints.access.oauth.protocol import self_mode

_NOT_CACHED = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """A valid request. credentials: for the protocol engine."""

    client: OAuthClient
    scopes: tuple[str, ...]
    redirect_uri: str
    credentials: dict[str, Any]


class InvalidAuthorizationRequest(Exception):
    """An invalid request. location: of the client; empty if its address is not trustworthy."""

    def __init__(self, description: str, location: str = "") -> None:
        super().__init__(description)
        self.description = description
        self.location = location


@self_mode
@require_safe
def authorize(request: HttpRequest) -> HttpResponse:
    """Send the person back with a code, or first to the login or consent page."""
    try:
        authorization = read_authorization_request(request)
    except InvalidAuthorizationRequest as error:
        return refusal(request, error)
    prompts = request.GET.get("prompt", "").split()
    person = request.user
    if not isinstance(person, Principal) or person.kind != PrincipalKind.PERSON or not person.is_active:
        return _login(request, authorization, is_silent="none" in prompts)
    if "consent" in prompts or needs_consent(person, authorization.client, authorization.scopes):
        if "none" in prompts:
            return redirect(_error_location(authorization, "consent_required"))
        return _redirect_within(f"{reverse('oauth-consent')}?{request.META['QUERY_STRING']}")
    return redirect(approve(request, authorization))


def read_authorization_request(request: HttpRequest) -> AuthorizationRequest:
    """Validate the query of a request. Raises InvalidAuthorizationRequest."""
    try:
        scopes, credentials = get_oauthlib_core().validate_authorization_request(_as_get(request))
    except OAuthToolkitError as error:
        raise _invalid(error.oauthlib_error) from error
    return AuthorizationRequest(
        credentials["request"].client, tuple(scopes), credentials["redirect_uri"], credentials
    )


@transaction.atomic
def approve(request: HttpRequest, authorization: AuthorizationRequest) -> str:
    """Create a code for the person. Returns the client's address with the code."""
    assert isinstance(request.user, Principal)
    if not authorization.client.skip_authorization:
        record_consent(request.user, authorization.client, authorization.scopes)
    authorization.credentials["auth_time"] = login_of_session(request.session).auth_time
    location, _, _, _ = get_oauthlib_core().create_authorization_response(
        _as_get(request), list(authorization.scopes), authorization.credentials, allow=True
    )
    return str(location)


def deny(authorization: AuthorizationRequest) -> str:
    """Return the client's address with the error `access_denied`."""
    error = AccessDeniedError(state=authorization.credentials.get("state"))
    return _with_issuer(error.in_uri(authorization.redirect_uri))


def refusal(request: HttpRequest, error: InvalidAuthorizationRequest) -> HttpResponse:
    """Return the client's address with the error, or a page if the address is not trustworthy."""
    if error.location:
        return redirect(error.location)
    log.warning("oauth.authorization_refused", client=cut_name(request.GET.get("client_id", "")))
    context = {"description": error.description}
    page = render(request, "console/access/authorization_error.html", context, status=400)
    for name, value in _NOT_CACHED.items():
        page.headers[name] = value
    return page


def redirect(location: str) -> HttpResponse:
    return HttpResponseRedirect(location, headers=_NOT_CACHED)


def _redirect_within(location: str) -> HttpResponse:
    return HttpResponseRedirect(location, headers={"Cache-Control": "no-store"})


def _login(request: HttpRequest, authorization: AuthorizationRequest, *, is_silent: bool) -> HttpResponse:
    if is_silent:
        return redirect(_error_location(authorization, "login_required"))
    return _redirect_within(f"{reverse('login')}?{urlencode({'redirect_url': request.get_full_path()})}")


def _invalid(error: Any) -> InvalidAuthorizationRequest:
    if isinstance(error, FatalClientError) or not error.redirect_uri:
        return InvalidAuthorizationRequest(error.description or error.error)
    return InvalidAuthorizationRequest(
        error.description or error.error, _with_issuer(error.in_uri(error.redirect_uri))
    )


def _error_location(authorization: AuthorizationRequest, code: str) -> str:
    state = authorization.credentials.get("state")
    parameters = {"error": code} | ({"state": state} if state else {})
    separator = "&" if "?" in authorization.redirect_uri else "?"
    return _with_issuer(f"{authorization.redirect_uri}{separator}{urlencode(parameters)}")


def _with_issuer(location: str) -> str:
    """Add the issuer (RFC 9207), so that clients notice a response of another server."""
    return str(_add_iss_to_redirect(location, settings.PUBLIC_URL))


def _as_get(request: HttpRequest) -> HttpRequest:
    """Return the request without its body: the consent form must not add parameters."""
    plain = HttpRequest()
    plain.method, plain.path, plain.path_info = "GET", reverse("oauth-authorize"), reverse("oauth-authorize")
    plain.META, plain.GET = request.META, request.GET
    plain.user = request.user
    return plain
