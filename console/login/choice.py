"""The login page: the identity providers, or the password form if there are none."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from console.login.departures import leave
from console.login.failure import failure_page
from console.login.password import password_page
from console.login.targets import target_of
from console.pages import problem_page
from controlplane.access.login.local_login import shows_password_form
from controlplane.access.login.oidc.authorization import (
    ATTEMPT_SECONDS,
    BegunLogin,
    LoginRequest,
    begin_login,
)
from controlplane.access.login.oidc.provider import Provider
from controlplane.access.login.oidc.providers import active_provider, active_providers
from controlplane.access.models import Principal
from controlplane.errors import ControlplaneError, RedirectNotAllowed, UnknownIdentityProvider


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def login(request: HttpRequest) -> HttpResponse:
    """Show how to log in. `idp` names a provider; `reauthenticate` asks for a new login there."""
    providers = active_providers()
    if not providers or request.method == "POST":
        return password_page(request)
    try:
        target = target_of(request)
        again = "reauthenticate" in request.GET
        if isinstance(request.user, Principal) and not again:
            return HttpResponseRedirect(target or settings.LOGIN_REDIRECT_URL)
        if provider := _chosen(request, providers):
            return start(request, provider, LoginRequest(target, extra=_again() if again else {}))
    except (RedirectNotAllowed, UnknownIdentityProvider) as error:
        return problem_page(request, error)
    return render(request, "console/login/choice.html", _context(providers, target))


def start(request: HttpRequest, provider: Provider, login_request: LoginRequest) -> HttpResponse:
    """Send the browser to the provider, or show that the provider cannot be reached."""
    try:
        begun = begin_login(provider, login_request)
    except ControlplaneError as error:
        return failure_page(request, error, provider, is_begun=False)
    response = leave(request, begun.url)
    _set_cookie(response, begun)
    return response


def _again() -> dict[str, str]:
    """Return the parameters of a new login for actions that require a recent one (RFC 9470)."""
    acr_values = {"acr_values": " ".join(settings.STEP_UP_ACR)} if settings.STEP_UP_ACR else {}
    return {"prompt": "login", "max_age": "0", **acr_values}


def _chosen(request: HttpRequest, providers: list[Provider]) -> Provider | None:
    if slug := request.GET.get("idp", ""):
        return active_provider(slug)
    is_only_way = len(providers) == 1 and not shows_password_form(settings.LOCAL_LOGIN, has_provider=True)
    return providers[0] if is_only_way else None


def _context(providers: list[Provider], target: str) -> dict[str, Any]:
    query = {"redirect_url": target} if target else {}
    local = f"{reverse('login-local')}?{urlencode({'next': target})}" if target else reverse("login-local")
    return {
        "providers": [
            (provider, f"{reverse('login')}?{urlencode({**query, 'idp': provider.slug})}")
            for provider in providers
        ],
        "local_url": local if shows_password_form(settings.LOCAL_LOGIN, has_provider=True) else "",
        "is_for_admins": settings.LOCAL_LOGIN == "admins",
    }


def _set_cookie(response: HttpResponse, begun: BegunLogin) -> None:
    response.set_cookie(
        settings.LOGIN_COOKIE_NAME,
        begun.cookie,
        max_age=ATTEMPT_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
