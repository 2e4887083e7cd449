"""Template tags for the parts of pages."""

from __future__ import annotations

from typing import Any

from django import template
from django.conf import settings
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from console.navigation import place
from console.notices import fold
from console.outside_links import file_url, ticket_url
from console.state_words import state_word
from controlplane.scopes import SEGMENTS, Scope

register = template.Library()


@register.inclusion_tag("console/parts/empty.html")
def empty(title: str, why: str, command: str = "") -> dict[str, Any]:
    """Show an empty state: title, explanation with the next step, and a command to copy."""
    return {"title": title, "why": why, "command": command}


@register.inclusion_tag("console/parts/copy_as.html")
def copy_as(**texts: str) -> dict[str, Any]:
    """Show buttons that copy the content as curl, cpctl, YAML or Terraform."""
    names = {"curl": "curl", "cpctl": "cpctl", "yaml": "YAML", "terraform": "Terraform"}
    return {"texts": [(names.get(name, name), text) for name, text in texts.items() if text]}


@register.inclusion_tag("console/parts/declared_place.html")
def declared_place(place: str, commit: str = "") -> dict[str, str]:
    """Show file, line and commit of a value, with a link to the Git host if OVERRIDES_FILE_URL is set."""
    return {"place": place, "commit": commit, "url": file_url(settings.OVERRIDES_FILE_URL, place, commit)}


@register.inclusion_tag("console/parts/ticket.html")
def ticket(text: str) -> dict[str, str]:
    """Show a ticket, with a link to its tracker if it is an address or TICKET_URL is set."""
    return {"ticket": text, "url": ticket_url(settings.TICKET_URL, text)}


@register.inclusion_tag("console/parts/badge.html")
def badge(state: str, title: str = "", kind: str = "", words: str = "") -> dict[str, Any]:
    """Show a state by icon and text: not everyone can distinguish colours.

    kind: of the object, where the word means something else. words: instead of the usual ones.
    """
    word = state_word(state, kind)
    return {"word": word, "title": title, "words": words or word.words}


@register.filter
def words(value: object) -> str:
    """Show a name of the API, such as `deletion_failed`, as words."""
    return state_word(str(value)).words


@register.simple_block_tag(takes_context=True)
def page_header(
    context: Any, content: str, *, title: str, note: str = "", back: str = "", back_to: str = ""
) -> str:
    """Show where the page is, its title, and what can be done: buttons between the tags, the main one last.

    back, back_to: URL and title of the page above, where the navigation does not have this page itself.
    """
    return render_to_string(
        "console/parts/page_header.html",
        {
            "place": place(context.get("navigation") or [], back, back_to),
            "title": title,
            "note": note,
            "actions": content.strip(),
        },
    )


@register.inclusion_tag("console/parts/banner_slot.html", takes_context=True)
def banner_slot(context: Any) -> dict[str, Any]:
    """Show the frame's notices and the `notices` of the page in one banner.

    `notices_follow` of the page: event types after which the banner is loaded again.
    """
    notices = [*(context.get("frame_notices") or []), *(context.get("notices") or [])]
    return {"notices": notices, "follow": context.get("notices_follow", "")}


@register.inclusion_tag("console/parts/banner.html")
def banner(notices: Any, now: Any = None) -> dict[str, Any]:
    """Show notices: the worst one, and the others folded below their number."""
    first, folded = fold(notices or [])
    return {"first": first, "folded": folded, "now": now or timezone.now()}


@register.inclusion_tag("console/parts/pager.html", takes_context=True)
def pager(context: Any, page: Any) -> dict[str, Any]:
    request = context["request"]
    return {"page": page, "request": request, "is_first": not request.GET.get("cursor")}


@register.simple_tag
def scope_url(page: str, scope: Any, *arguments: str) -> str:
    """Return the URL of a page for a scope."""
    segments = {name: value for name in SEGMENTS if (value := getattr(scope, name))}
    return f"{reverse(page, args=arguments)}{'?' if segments else ''}{urlencode(segments)}"


@register.simple_tag
def time_choices() -> tuple[tuple[str, str], ...]:
    """Return durations to choose with one click, and their words."""
    return (("15m", "15 minutes"), ("1h", "hour"), ("24h", "day"), ("7d", "week"))


@register.filter
def query(scope: Scope) -> str:
    return urlencode({name: value for name, value in scope.segments.items() if value})
