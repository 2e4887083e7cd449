"""Addresses outside the console: where a file is at the Git host, and a ticket in its tracker. Pure."""

from __future__ import annotations

from urllib.parse import quote

_SCHEMES = ("https://", "http://")


def file_url(template: str, place: str, commit: str = "") -> str:
    """Return the address of a place such as `teams/ml.yaml:12`; empty without a template or a place.

    template: with `{file}`, and `{line}` and `{commit}` if the host can show them (OVERRIDES_FILE_URL).
    """
    file, _, line = place.rpartition(":")
    if not template or not file or not line.isdecimal():
        return ""
    values = {"commit": commit or "HEAD", "file": quote(file), "line": line}
    for name, value in values.items():
        template = template.replace(f"{{{name}}}", value)
    return template


def ticket_url(template: str, ticket: str) -> str:
    """Return the address of a ticket; empty without one. template: with `{ticket}` (TICKET_URL)."""
    if ticket.startswith(_SCHEMES):
        return ticket
    return template.replace("{ticket}", quote(ticket, safe="")) if ticket else ""
