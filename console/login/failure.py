"""The page of a failed login: which provider failed and why, the request id, and other ways to log in."""

from __future__ import annotations

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from controlplane.access.login.local_login import shows_password_form
from controlplane.access.login.oidc.provider import Provider
from controlplane.access.login.records import record_failure
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.errors import ControlplaneError, IssuerUnavailable, RemoteFailed
from controlplane.observability.request_ids import current_request_id

log = structlog.get_logger(__name__)


def failure_page(
    request: HttpRequest, error: ControlplaneError, provider: Provider | None, *, is_begun: bool
) -> HttpResponse:
    """Show why a login failed, and record it if it had begun. provider: None if none is known."""
    slug = provider.slug if provider else ""
    log.warning("login.failed", provider=slug, code=error.code)
    if is_begun:
        # Requests that began no login would fill the audit log.
        record_failure("", provider=slug, reason=error.detail, request_id=current_request_id())
    context = {
        "problem": error,
        "provider": provider,
        "is_down": isinstance(error, IssuerUnavailable | RemoteFailed),
        "request_id": current_request_id(),
        "has_local_login": shows_password_form(settings.LOCAL_LOGIN, has_provider=True),
    }
    response = render(request, "console/login/failed.html", context, status=STATUS_BY_ERROR[type(error)])
    response.headers["Cache-Control"] = "no-store"
    return response
