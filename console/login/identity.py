"""Link an identity at a provider to one's own account, after logging in at both."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from console.login.choice import start
from console.pages import page
from controlplane.access.login.oidc.authorization import LoginRequest
from controlplane.access.login.oidc.providers import active_provider
from controlplane.identity.callers import Caller

# The provider must ask for its password: another person's login there must not be linked unnoticed.
_ASK = {"prompt": "login"}


@page
def link(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Begin a login whose identity is linked to the caller. Only by POST, with its CSRF check."""
    if request.method != "POST":
        return HttpResponseRedirect(reverse("sessions"))
    provider = active_provider(request.POST.get("provider", ""))
    return start(request, provider, LoginRequest(reverse("sessions"), caller.principal_id, _ASK))
