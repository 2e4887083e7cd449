"""The same thing as a command: what pages offer to copy."""

from __future__ import annotations

import json
from shlex import join, quote
from typing import Any

from django.http import HttpRequest


def curl(request: HttpRequest, method: str, path: str, body: Any = None) -> str:
    """A request to the API, with the token in a variable: a command line is seen by others."""
    words = ["curl"] if method == "GET" else ["curl", "-X", method]
    words += ["-H", '"Authorization: Bearer $TOKEN"']
    if body is not None:
        words += ["-H", "'Content-Type: application/json'", "-d", quote(json.dumps(body, ensure_ascii=False))]
    return " ".join([*words, quote(f"{request.scheme}://{request.get_host()}/api/v1/{path}")])


def cpctl(*words: str) -> str:
    """Names are what agents and people chose: quoted, they stay names."""
    return join(["cpctl", *words])
