"""A filter for texts of the API, whose names are between backticks."""

from __future__ import annotations

from django import template
from django.utils.html import format_html, format_html_join

register = template.Library()


@register.filter
def inline_code(text: str) -> str:
    """Show what is between backticks as code; everything is escaped."""
    parts = str(text).split("`")
    rows = (
        (format_html("<code>{}</code>", part) if number % 2 else part,) for number, part in enumerate(parts)
    )
    return format_html_join("", "{}", rows)
