"""Texts with expressions in them: `-o jsonpath=` as kubectl has it, and `--template`. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from cpctl.errors import UsageError
from cpctl.selectors.expressions import compiled
from cpctl.selectors.filters import Filter, iterate
from cpctl.selectors.functions import plain_text

Part = Callable[[Any], str]
# A string in braces may hold braces.
_INSIDE = r"""((?:"(?:[^"\\]|\\.)*"|'[^']*'|[^"'{}])*)"""
_JSONPATH = re.compile(r"\{" + _INSIDE + r"\}")
_TEMPLATE = re.compile(r"\{\{" + _INSIDE + r"\}\}")


def jsonpath(text: str) -> Part:
    """kubectl's: what several values are found by stands with blanks between them."""
    whole = text if "{" in text else f"{{{text}}}"
    return _whole(_Reader(whole, _JSONPATH, lambda said: compiled(said, jsonpath=True)))


def template(text: str) -> Part:
    """As Go's, as far as `range`, `end` and paths go."""
    return _whole(_Reader(text, _TEMPLATE, compiled))


class _Reader:
    """The pieces of a text, one after the other: literal text, or what stands in braces."""

    def __init__(self, text: str, braces: re.Pattern[str], read: Callable[[str], Filter]) -> None:
        self.text = text
        self.compiled = read
        self.goes_through_lists = braces is _TEMPLATE
        self.halves = ("{{", "}}") if braces is _TEMPLATE else ("{", "}")
        self.pieces = enumerate(braces.split(text))


def _whole(reader: _Reader) -> Part:
    parts, ended = _parts(reader)
    if ended:
        raise UsageError(f"{reader.text!r} has an end without a range.")
    return _joined(parts)


def _parts(reader: _Reader) -> tuple[list[Part], bool]:
    """Up to the end of the text, or of the range."""
    parts: list[Part] = []
    for number, piece in reader.pieces:
        said = piece.strip()
        if number % 2 == 0:
            if any(half in piece for half in reader.halves):
                raise UsageError(f"{reader.text!r} has a brace without its other half.")
            parts.append(_literal(piece))
        elif said == "end":
            return parts, True
        elif said.startswith("range "):
            parts.append(_range(reader, said.removeprefix("range ")))
        else:
            parts.append(_found(reader, said))
    return parts, False


def _range(reader: _Reader, path: str) -> Part:
    through = reader.compiled(path)
    parts, ended = _parts(reader)
    if not ended:
        raise UsageError(f"{reader.text!r} has a range without an end.")
    each = _joined(parts)

    def items(value: Any) -> Iterator[Any]:
        for one in through(value):
            yield from iterate(one) if reader.goes_through_lists and isinstance(one, list) else [one]

    return lambda value: "".join(each(one) for one in items(value))


def _found(reader: _Reader, said: str) -> Part:
    if said.startswith('"'):
        return _literal(_string(said))
    filtered = reader.compiled(said)
    return lambda value: " ".join(plain_text(one) for one in filtered(value) if one is not None)


def _string(said: str) -> str:
    try:
        return str(json.loads(said))
    except ValueError as error:
        raise UsageError(f"{said} is no string.") from error


def _joined(parts: list[Part]) -> Part:
    return lambda value: "".join(part(value) for part in parts)


def _literal(text: str) -> Part:
    return lambda value: text
