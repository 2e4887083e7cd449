"""The page of components: each part of the console in each of its states, light and dark."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from console.listing import Column, read_listing
from console.notices import Notice
from console.pages import page
from console.state_words import vocabulary
from controlplane.identity.callers import Caller

_TOKENS = (
    "page",
    "sheet",
    "raised",
    "ink",
    "soft",
    "line",
    "edge",
    "accent",
    "tint",
    "good",
    "warn",
    "bad",
    "added",
    "gone",
)
_COLUMNS = (
    Column("name", "Name", "medium", order=("name",), is_optional=False),
    Column("state", "State", "medium"),
    Column("count", "Count", "tiny", order=("count",), is_number=True),
    Column("reason", "Reason"),
    Column("team", "Team", "narrow", is_extra=True),
)
_ROWS = (
    ("prod-eu-1", "ready", 12, "Registered.", "platform"),
    (
        "prod-eu-2",
        "unavailable",
        0,
        "A reason too long for one line is cut, and whole in its title. " * 3,
        "ml",
    ),
)
_NOTICES = (
    Notice(
        "The fleet guard is engaged in 2 environments.",
        "No work is rescheduled.",
        "#notices",
        "Review guards",
    ),
    Notice("Postgres accepts no changes.", tone="bad"),
    Notice("This list may be some seconds old.", tone="info"),
)


@page
def components(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Show all parts to every reader who is signed in."""
    context = {
        "tokens": _TOKENS,
        "states": vocabulary(),
        "listing": read_listing(request, "components", "Sample table", _COLUMNS, sort="name"),
        "rows": _ROWS,
        "samples": _NOTICES,
        "now": timezone.now(),
        "kinds": ("light", "dark"),
    }
    return render(request, "console/components.html", context)
