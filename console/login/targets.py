"""Where a login or logout leads: `redirect_url` as in Flyte, or `next` as in Django."""

from __future__ import annotations

from contextlib import suppress

from django.conf import settings
from django.http import HttpRequest

from controlplane.access.login.redirects import check_redirect, origin_of
from controlplane.errors import RedirectNotAllowed


def target_of(request: HttpRequest) -> str:
    """Return the checked target; "" without one. Raises RedirectNotAllowed for a foreign `redirect_url`.

    A foreign `next` is ignored: only our own pages set it.
    """
    if url := request.GET.get("redirect_url", ""):
        return check_redirect(url, allowed_origins())
    with suppress(RedirectNotAllowed):
        return check_redirect(request.POST.get("next", "") or request.GET.get("next", ""), allowed_origins())
    return ""


def allowed_origins() -> frozenset[str]:
    origins: frozenset[str] = settings.LOGIN_REDIRECT_ORIGINS
    return origins | {origin_of(settings.PUBLIC_URL)} if settings.PUBLIC_URL else origins
