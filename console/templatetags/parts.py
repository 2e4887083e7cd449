"""Template tags for the parts of pages."""

from __future__ import annotations

from typing import Any

from django import template
from django.urls import reverse
from django.utils.http import urlencode

from controlplane.scopes import SEGMENTS, Scope

register = template.Library()


@register.inclusion_tag("console/parts/empty.html")
def empty(title: str, why: str, command: str = "") -> dict[str, Any]:
    """Show an empty state: title, explanation with the next step, and a command to copy."""
    return {"title": title, "why": why, "command": command}


@register.inclusion_tag("console/parts/copy_as.html")
def copy_as(**texts: str) -> dict[str, Any]:
    """Show buttons that copy the content as curl, cpctl or YAML."""
    names = {"curl": "curl", "cpctl": "cpctl", "yaml": "YAML"}
    return {"texts": [(names.get(name, name), text) for name, text in texts.items() if text]}


@register.inclusion_tag("console/parts/badge.html")
def badge(state: str, title: str = "") -> dict[str, Any]:
    """Show a state by icon and text: not everyone can distinguish colours."""
    return {"state": state, "title": title}


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
