"""Paths and queries of HTTP as Go's net/url and net/http read them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote_to_bytes

from overrides.flyte.errors import invalid

_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)


def path_of(raw: bytes) -> str:
    """The path as text. raw: without percent signs. Raises FlyteError."""
    return _text(raw)


def clean_path(path: str) -> str:
    """The path without empty segments and dots, as Go's ServeMux redirects to it."""
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            del kept[-1:]
        elif segment not in ("", "."):
            kept.append(segment)
    ends_open = path.endswith("/") and bool(kept)
    return "/" + "/".join(kept) + ("/" if ends_open else "")


def parse_query(query: str) -> dict[str, list[str]]:
    """Values by name, in their order. Raises FlyteError in the words of Go's ParseQuery."""
    found: dict[str, list[str]] = {}
    for name, value in _pairs(query.split("&")):
        found.setdefault(name, []).append(value)
    return found


def _pairs(parts: Iterable[str]) -> Iterable[tuple[str, str]]:
    for part in parts:
        if ";" in part:
            raise invalid("invalid semicolon separator in query")
        name, _, value = part.partition("=")
        if part:
            yield _unescape(name), _unescape(value)


def _unescape(text: str) -> str:
    if broken := _BROKEN_ESCAPE.search(text):
        raise invalid(f'invalid URL escape "{broken[0]}"')
    return _text(unquote_to_bytes(text.replace("+", " ").encode("latin-1")))


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise invalid("The address has bytes that are not UTF-8. Percent-encode the UTF-8 text.") from error
