"""Template context of the frame around every page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest

from console.navigation import Entry, groups
from controlplane.access.authentication import session_caller
from controlplane.access.emergency_access import open_accesses
from controlplane.access.emergency_models import EmergencyAccess
from controlplane.access.models import Principal

THEMES = ("auto", "light", "dark")
THEME_COOKIE = "cp-theme"


def frame(request: HttpRequest) -> dict[str, Any]:
    theme = request.COOKIES.get(THEME_COOKIE, "auto")
    return {
        "emergency_accesses": _emergency_accesses(request),
        "navigation": _navigation(request),
        "themes": THEMES,
        # Set on the server, so that a page never flashes in the other theme.
        "theme": theme if theme in THEMES else "auto",
    }


def _navigation(request: HttpRequest) -> list[tuple[str, list[Entry]]]:
    if not isinstance(request.user, Principal):
        return []
    # Pages of the login have no caller of their own.
    return groups(request.path, getattr(request, "caller", None) or session_caller(request, request.user))


def _emergency_accesses(request: HttpRequest) -> Sequence[EmergencyAccess]:
    is_page = request.headers.get("HX-Request") != "true"
    return list(open_accesses()) if is_page and isinstance(request.user, Principal) else []
