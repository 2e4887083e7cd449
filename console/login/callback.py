"""The redirect URI: finish the login that the provider confirmed."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.http import require_safe

from console.login.failure import failure_page
from console.step_up import record_step_up
from controlplane.access.login.login_details import from_claims
from controlplane.access.login.new_session import begin_session
from controlplane.access.login.oidc.authorization import (
    Callback,
    FinishedLogin,
    attempted_provider,
    finish_login,
)
from controlplane.access.login.oidc.identities import admit
from controlplane.access.login.oidc.models import Identity
from controlplane.access.login.oidc.provider import Provider
from controlplane.access.login.oidc.providers import active_provider
from controlplane.access.login.records import record_login
from controlplane.errors import ControlplaneError, UnknownIdentityProvider
from controlplane.observability.request_ids import current_request_id

log = structlog.get_logger(__name__)


@require_safe
def callback(request: HttpRequest) -> HttpResponse:
    """Log the person in, or show why not. The login's cookie is used up in both cases."""
    cookie = request.COOKIES.get(settings.LOGIN_COOKIE_NAME, "")
    provider = _provider_of(cookie)
    try:
        login = finish_login(cookie, _callback(request))
        identity = admit(login, request_id=current_request_id())
    except ControlplaneError as error:
        response = failure_page(request, error, provider, is_begun=provider is not None)
    else:
        response = _log_in(request, login, identity)
    response.delete_cookie(settings.LOGIN_COOKIE_NAME, samesite="Lax")
    return response


def _log_in(request: HttpRequest, login: FinishedLogin, identity: Identity) -> HttpResponse:
    person = identity.principal
    details = from_claims(
        login.claims, provider=login.provider.slug, identity_id=identity.id, now=datetime.now(UTC)
    )
    if request.user == person:
        record_step_up(request, person, provider=login.provider.slug)
    begin_session(request, person, details, id_token=login.id_token)
    log.info("login.succeeded", name=person.name, provider=login.provider.slug)
    record_login(person, provider=login.provider.slug, request_id=current_request_id())
    response = HttpResponseRedirect(login.redirect_url or settings.LOGIN_REDIRECT_URL)
    response.headers["Cache-Control"] = "no-store"
    return response


def _callback(request: HttpRequest) -> Callback:
    query = request.GET
    return Callback(
        state=query.get("state", ""),
        code=query.get("code", ""),
        issuer=query.get("iss", ""),
        error=query.get("error", ""),
    )


def _provider_of(cookie: str) -> Provider | None:
    """Return the provider where this browser's login began, to name it if the login fails."""
    with suppress(UnknownIdentityProvider):
        if slug := attempted_provider(cookie):
            return active_provider(slug)
    return None
