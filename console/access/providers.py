"""Identity providers: list, details, and a test of claims or a token against their rules."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.cpctl_commands import curl
from console.forms import read_form
from console.pages import page
from controlplane.access.login.oidc import providers as access
from controlplane.access.login.oidc.authorization import CALLBACK_PATH
from controlplane.access.login.oidc.logout import LOGOUT_PATH
from controlplane.access.login.oidc.provider import Provider
from controlplane.access.login.oidc.provider_trial import ProviderTrial, try_claims, try_token
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.errors import ControlplaneError, FieldError, InvalidRequest
from controlplane.formats.strict_json import parse_json
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action

_MAX_DEPTH = 12
_EXAMPLE = json.dumps({"sub": "1", "groups": ["cp-ml-vision"]}, indent=2)


@page
def providers(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require(Action.ACCESS_READ)
    context = {
        "providers": access.all_providers(),
        "curl": curl(request, "GET", "identity-providers"),
    }
    return render(request, "console/access/providers.html", context)


@page
def provider(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    caller.require(Action.ACCESS_READ)
    shown, _ = access.get_provider(slug)
    context: dict[str, Any] = {
        "provider": shown,
        "rules": [(number, rule, dict(rule.scope or {})) for number, rule in enumerate(shown.rules, 1)],
        "addresses": [
            ("Redirect URI", settings.PUBLIC_URL + CALLBACK_PATH),
            ("Post-logout redirect URI", settings.PUBLIC_URL + LOGOUT_PATH),
            ("Back-channel logout URI", settings.PUBLIC_URL + "/oidc/backchannel-logout"),
        ],
        "text": request.POST.get("text", "") or _EXAMPLE,
        "curl": curl(request, "GET", f"identity-providers/{slug}"),
    }
    status = 200
    if request.method == "POST":
        try:
            context["trial"] = _try(shown, read_form(request).get("text", "").strip())
        except ControlplaneError as error:
            context["problem"], status = error, STATUS_BY_ERROR[type(error)]
    response = render(request, "console/access/provider.html", context, status=status)
    # The form may contain a token.
    response.headers["Cache-Control"] = "no-store"
    return response


def _try(provider: Provider, text: str) -> ProviderTrial:
    """Test claims as a JSON object, or else a token."""
    if not text.startswith("{"):
        return try_token(provider, text)
    claims = parse_json(text.encode(), max_depth=_MAX_DEPTH)
    if not isinstance(claims, dict):
        message = "Enter an ID token, or claims as a JSON object."
        raise InvalidRequest(message, errors=[FieldError("/text", "invalid", message)])
    return try_claims(provider, claims)
