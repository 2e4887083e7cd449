"""JSON with stricter rules than `json.loads`: unique names, finite numbers, limited depth and size. Pure."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import msgspec

from controlplane.errors import FieldError, MalformedBody

# A string is skipped as a whole. The closing quote is optional: otherwise each quote of a hostile body would
# be scanned to the end again. The parser then rejects the unclosed string.
_STRUCTURE = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{\]},]', re.DOTALL)
# Values in one body, without names: processing a value costs more than reading it.
MAX_VALUES = 500_000

_UNDECIDED: Any = object()


def parse_json(body: bytes, *, max_depth: int) -> Any:
    """Return the document. Raises MalformedBody."""
    document = _plain(body, max_depth)
    return parse_exactly(body, max_depth=max_depth) if document is _UNDECIDED else document


def _plain(body: bytes, max_depth: int) -> Any:
    """Parse fast. Return _UNDECIDED if only `parse_exactly` can decide whether the document is valid."""
    # Only an escape can produce NUL or a lone surrogate.
    if b"\\u" in body or (len(body) > MAX_VALUES and sum(map(body.count, (b",", b"[", b"{"))) > MAX_VALUES):
        return _UNDECIDED
    try:
        document = msgspec.json.decode(body)
        # If encoding it yields the same text, no name was repeated and no number lost a digit.
        same = msgspec.json.encode(document) == msgspec.json.format(body, indent=-1)
    except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError):
        return _UNDECIDED
    return document if same and depth_of(document) <= max_depth else _UNDECIDED


def depth_of(document: Any) -> int:
    """Return how deep lists and objects are nested; 0 for a scalar."""
    depth, level = 0, [document]
    while level := [container for container in level if isinstance(container, (dict, list))]:
        depth += 1
        level = [
            below
            for container in level
            for below in (container.values() if isinstance(container, dict) else container)
        ]
    return depth


def parse_exactly(body: bytes, *, max_depth: int) -> Any:
    """Return the document after checking everything. Raises MalformedBody."""
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedBody(f"The body is not valid UTF-8: byte {error.start} cannot be decoded.") from error
    _check_structure(body, max_depth)
    try:
        document = json.loads(
            body, object_pairs_hook=_unique, parse_constant=_reject_constant, parse_float=_finite
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise MalformedBody(
            f"The body is not valid JSON: {error.msg} at {where}.",
            errors=[FieldError("", "malformed", error.msg, hint=where)],
        ) from error
    except ValueError as error:  # an integer of thousands of digits
        raise MalformedBody("The body contains a number with too many digits.") from error
    _check_strings(document, "")
    return document


def _check_structure(body: bytes, max_depth: int) -> None:
    """Reject too many levels or values before building the document."""
    depth, values = 0, 1
    for match in _STRUCTURE.finditer(body):
        token = match[0]
        if token in (b"[", b"{"):
            depth += 1
            values += 1
            if depth > max_depth:
                raise MalformedBody(f"The body is nested deeper than {max_depth} levels.")
        elif token in (b"]", b"}"):
            depth -= 1
        elif token == b",":
            values += 1
        if values > MAX_VALUES:
            raise MalformedBody(
                f"The body has more than {MAX_VALUES} values. Split it into several requests."
            )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        names: set[str] = set()
        name = next(key for key, _ in pairs if key in names or names.add(key))  # type: ignore[func-returns-value]
        raise MalformedBody(
            f"The name {name!r} is repeated in one object.",
            errors=[FieldError("", "duplicate_name", f"The name {name!r} is repeated in one object.")],
        )
    return document


def _reject_constant(word: str) -> Any:
    raise MalformedBody(f"{word} is not valid JSON: numbers must be finite.")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise MalformedBody(f"The number {text[:40]} is too large.")
    return number


def _check_strings(value: Any, pointer: str) -> None:
    """Reject texts that Postgres cannot store: NUL (jsonb) and lone surrogates (UTF-8)."""
    if isinstance(value, str):
        _check_string(value, pointer)
    elif isinstance(value, dict):
        for name, member in value.items():
            _check_string(name, pointer)
            _check_strings(member, f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list):
        for index, member in enumerate(value):
            _check_strings(member, f"{pointer}/{index}")


def _check_string(text: str, pointer: str) -> None:
    if text.isascii() and "\x00" not in text:
        return
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise MalformedBody(
            "A text contains a NUL character or a lone surrogate, which cannot be stored.",
            errors=[FieldError(pointer, "unstorable_text", "The text contains NUL or a lone surrogate.")],
        )
