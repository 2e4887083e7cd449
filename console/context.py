"""Template context of the frame around every page."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from console.navigation import groups

THEMES = ("auto", "light", "dark")
THEME_COOKIE = "cp-theme"


def frame(request: HttpRequest) -> dict[str, Any]:
    theme = request.COOKIES.get(THEME_COOKIE, "auto")
    return {
        "navigation": groups(request.path),
        "themes": THEMES,
        # Set on the server, so that a page never flashes in the other theme.
        "theme": theme if theme in THEMES else "auto",
    }
