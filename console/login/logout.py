"""Logout: end the session here, and then the provider's."""

from __future__ import annotations

import structlog
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from console.login.departures import leave
from console.login.targets import allowed_origins, target_of
from console.pages import problem_page
from controlplane.access.login.new_session import end_session
from controlplane.access.login.oidc.logout import provider_logout_url
from controlplane.access.login.records import record_logout
from controlplane.access.login.redirects import check_redirect
from controlplane.errors import RedirectNotAllowed
from controlplane.observability.request_ids import current_request_id

_SALT = "logout-target"
_STATE_SECONDS = 600
log = structlog.get_logger(__name__)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def logout(request: HttpRequest) -> HttpResponse:
    """Log out. The provider sends the browser back here, where nobody is logged in any more."""
    try:
        target = target_of(request) or _returned_target(request)
    except RedirectNotAllowed as error:
        return problem_page(request, error)
    session = end_session(request)
    if session is not None:
        provider = session.login.provider if session.login else ""
        record_logout(session.person, provider=provider, request_id=current_request_id())
        state = signing.dumps(target, salt=_SALT) if target else ""
        if url := provider_logout_url(session, state=state):
            return leave(request, url)
    if target:
        return leave(request, target)
    return render(request, "console/login/logged_out.html")


def _returned_target(request: HttpRequest) -> str:
    """Return the target that the provider brought back, which we signed."""
    try:
        target: str = signing.loads(request.GET.get("state", ""), salt=_SALT, max_age=_STATE_SECONDS)
    except signing.BadSignature:
        return ""
    return check_redirect(target, allowed_origins())
