"""Template context of the frame around every page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest

from console.navigation import groups
from controlplane.access.emergency_access import open_accesses
from controlplane.access.emergency_models import EmergencyAccess
from controlplane.access.models import Principal
from controlplane.identity.callers import Caller

THEMES = ("auto", "light", "dark")
THEME_COOKIE = "cp-theme"


def frame(request: HttpRequest) -> dict[str, Any]:
    theme = request.COOKIES.get(THEME_COOKIE, "auto")
    caller = getattr(request, "caller", None)
    return {
        "emergency_accesses": _emergency_accesses(request),
        "navigation": groups(request.path, caller) if isinstance(caller, Caller) else [],
        "themes": THEMES,
        # Set on the server, so that a page never flashes in the other theme.
        "theme": theme if theme in THEMES else "auto",
    }


def _emergency_accesses(request: HttpRequest) -> Sequence[EmergencyAccess]:
    is_page = request.headers.get("HX-Request") != "true"
    return list(open_accesses()) if is_page and isinstance(request.user, Principal) else []
