"""Equivalent curl and cpctl commands, for the copy buttons of pages."""

from __future__ import annotations

import json
from shlex import join, quote
from typing import Any

from django.http import HttpRequest


def curl(request: HttpRequest, method: str, path: str, body: Any = None, *, version: int = 0) -> str:
    """Return a curl command. The token is a variable, because command lines are visible to other users.

    version: of the object that it changes; without it, such a request is refused. 0 for no version.
    """
    words = ["curl"] if method == "GET" else ["curl", "-X", method]
    words += ["-H", '"Authorization: Bearer $TOKEN"']
    if version:
        words += ["-H", f"'If-Match: \"v{version}\"'"]
    if body is not None:
        words += ["-H", "'Content-Type: application/json'", "-d", quote(json.dumps(body, ensure_ascii=False))]
    return " ".join([*words, quote(f"{request.scheme}://{request.get_host()}/api/v1/{path}")])


def of_team(team: str) -> tuple[str, ...]:
    """Return the option of cpctl for objects of a team; none for those of the platform."""
    return ("--team", team) if team else ()


def cpctl(*words: str) -> str:
    """Return a cpctl command with quoted arguments: agents and people choose names freely."""
    return join(["cpctl", *words])
