"""Template context of the frame around every page."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.timezone import localtime

from console.navigation import Entry, groups
from console.notices import Notice
from console.shown_zone import read_zone
from controlplane.access.authentication import session_caller
from controlplane.access.emergency_access import open_accesses
from controlplane.access.emergency_models import EmergencyAccess
from controlplane.access.models import Principal

THEMES = ("auto", "light", "dark")
THEME_COOKIE = "cp-theme"


def frame(request: HttpRequest) -> dict[str, Any]:
    theme = request.COOKIES.get(THEME_COOKIE, "auto")
    return {
        "frame_notices": _emergency_notices(request),
        "navigation": _navigation(request),
        "shown_zone": read_zone(request.COOKIES),
        "themes": THEMES,
        # Set on the server, so that a page never flashes in the other theme.
        "theme": theme if theme in THEMES else "auto",
    }


def _navigation(request: HttpRequest) -> list[tuple[str, list[Entry]]]:
    if not isinstance(request.user, Principal):
        return []
    # Pages of the login have no caller of their own.
    return groups(request.path, getattr(request, "caller", None) or session_caller(request, request.user))


def _emergency_notices(request: HttpRequest) -> list[Notice]:
    has_banner = request.headers.get("HX-Request") != "true" or request.headers.get("HX-Target") == "banner"
    if not has_banner or not isinstance(request.user, Principal):
        return []
    return [_emergency_notice(access) for access in open_accesses()]


def _emergency_notice(access: EmergencyAccess) -> Notice:
    until = date_format(localtime(access.ends_at), "Y-m-d H:i T")
    return Notice(
        f"Emergency access: {access.principal} is an administrator until {until}.",
        url=f"{reverse('audit')}?action=access.break_glass_opened",
        link="Show record",
        tone="bad",
    )
