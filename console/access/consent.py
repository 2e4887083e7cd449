"""The page on which people allow a client to act for them."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.pages import page
from controlplane.access.models import PrincipalKind
from controlplane.access.oauth.scopes import meaning
from controlplane.endpoints.access.oauth import authorization as oauth
from controlplane.endpoints.access.oauth.protocol import self_mode
from controlplane.errors import PermissionDenied
from controlplane.identity.callers import Caller


@self_mode
@page
def consent(request: HttpRequest, caller: Caller) -> HttpResponse:
    if caller.kind != PrincipalKind.PERSON:
        raise PermissionDenied("Only people can allow clients to act for them.")
    try:
        authorization = oauth.read_authorization_request(request)
    except oauth.InvalidAuthorizationRequest as error:
        return oauth.refusal(request, error)
    if request.method == "POST":
        is_allowed = request.POST.get("decision") == "allow"
        return oauth.redirect(
            oauth.approve(request, authorization) if is_allowed else oauth.deny(authorization)
        )
    origin = "{0.scheme}://{0.netloc}".format(urlsplit(authorization.redirect_uri))
    context = {
        "client": authorization.client,
        "meanings": [(scope, meaning(scope)) for scope in authorization.scopes],
        "origin": origin,
    }
    response = render(request, "console/access/consent.html", context)
    response.headers["Cache-Control"] = "no-store"
    # Browsers apply form-action to the redirect that follows the form too.
    response._csp_update = {"form-action": [origin]}  # type: ignore[attr-defined]  # read by django-csp
    return response
