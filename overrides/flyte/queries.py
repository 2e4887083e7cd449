"""Parse HTTP paths and queries like Go's net/url and net/http. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote_to_bytes

from overrides.flyte.errors import invalid

_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)


def path_of(raw: bytes) -> str:
    """Return the path as text. raw: already percent-decoded. Raises FlyteError."""
    return _text(raw)


def clean_path(path: str) -> str:
    """Return the path without empty segments and dots, to which Go's ServeMux redirects."""
    segments: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            del segments[-1:]
        elif segment not in ("", "."):
            segments.append(segment)
    ends_open = path.endswith("/") and bool(segments)
    return "/" + "/".join(segments) + ("/" if ends_open else "")


def parse_query(query: str) -> dict[str, list[str]]:
    """Return values by name, in their order. Raises FlyteError with the texts of Go's ParseQuery."""
    values_by_name: dict[str, list[str]] = {}
    for name, value in _pairs(query.split("&")):
        values_by_name.setdefault(name, []).append(value)
    return values_by_name


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
