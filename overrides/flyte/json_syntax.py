"""JSON syntax: values with the spelling of their numbers, and positions in the text. Pure.

Errors have the texts of Go's encoding/json, which FlyteAdmin's gateway returns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from overrides.flyte.errors import invalid

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_HEX = "0123456789abcdefABCDEF"
_LITERALS = {"t": "true", "f": "false", "n": "null"}
_MISSING_END = "unexpected EOF"


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it was written: 5, 5.0 and 50e-1 are different texts."""

    text: str


class Pairs(list[tuple[str, Any]]):
    """An object: names can repeat, and keep the order of the text."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step into a value: the item or pair with this index. name: the pair's name instead of its value."""

    index: int
    name: bool = False


def read(text: str) -> Any:
    """Return the first value of the text; ignore what follows it. Raises FlyteError.

    Objects are Pairs, numbers are Number, everything else is as in Python's json. The text starts with the
    value.
    """
    try:
        value, _ = _DECODER.raw_decode(text)
    except (ValueError, RecursionError) as error:
        raise invalid(_syntax_error(text)) from error
    return value


def position(text: str, steps: Sequence[Step]) -> int:
    """Return the position in the text of the value or name to which the steps lead."""
    at = 0
    for step in steps:
        is_object = text[at] == "{"
        at = _skip(text, at + 1)
        for index in range(step.index + 1):
            if is_object:
                if step.name and index == step.index:
                    return at
                at = _skip(text, _skip(text, _end(text, at)) + 1)
            if index < step.index:
                at = _skip(text, _skip(text, _end(text, at)) + 1)
    return at


def raw(text: str, at: int) -> str:
    """Return the text of the value at a position; for objects and lists only the bracket."""
    return text[at] if text[at] in "[{" else text[at : _end(text, at)]


def _refuse(word: str) -> Any:
    raise ValueError(word)


_DECODER = json.JSONDecoder(
    object_pairs_hook=Pairs, parse_int=Number, parse_float=Number, parse_constant=_refuse
)


def _end(text: str, at: int) -> int:
    return int(_DECODER.raw_decode(text, at)[1])


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _syntax_error(text: str) -> str:
    """Return the error of Go's scanner for a text that Python's parser refused."""
    stack: list[str] = []
    state, at = "value", 0
    while True:
        at = _skip(text, at)
        if at >= len(text):
            return _MISSING_END
        if state == "after" and not stack:
            return "exceeded max depth"  # Python's parser allows fewer levels than Go's
        step = _STATES[state](text, at, stack)
        if isinstance(step, str):
            return step
        state, at = step


# The next state and its position; or the error.
_Next = tuple[str, int] | str


def _value(text: str, at: int, stack: list[str]) -> _Next:
    character = text[at]
    if character in "{[":
        stack.append(character)
        if len(stack) > _MOST_LEVELS:
            return _invalid_character(text, at, "exceeded max depth")
        return ("first name" if character == "{" else "first item"), at + 1
    if character == '"':
        return _string(text, at, "after")
    if character in "-0123456789":
        return _number(text, at)
    if character in _LITERALS:
        return _literal(text, at, _LITERALS[character])
    return _invalid_character(text, at, "looking for beginning of value")


def _first_item(text: str, at: int, stack: list[str]) -> _Next:
    return _after(text, at, stack) if text[at] == "]" else _value(text, at, stack)


def _first_name(text: str, at: int, stack: list[str]) -> _Next:
    return _after(text, at, stack) if text[at] == "}" else _name(text, at, stack)


def _name(text: str, at: int, stack: list[str]) -> _Next:
    if text[at] != '"':
        return _invalid_character(text, at, "looking for beginning of object key string")
    return _string(text, at, "colon")


def _colon(text: str, at: int, stack: list[str]) -> _Next:
    return ("value", at + 1) if text[at] == ":" else _invalid_character(text, at, "after object key")


def _after(text: str, at: int, stack: list[str]) -> _Next:
    """Read what follows a value: a comma, or the end of its container."""
    in_object = stack[-1:] == ["{"]
    if text[at] == ("}" if in_object else "]"):
        stack.pop()
        return "after", at + 1
    if text[at] == ",":
        return ("name" if in_object else "value"), at + 1
    return _invalid_character(text, at, "after object key:value pair" if in_object else "after array element")


def _string(text: str, at: int, state: str) -> _Next:
    match = _STRING.match(text, at)
    assert match
    end = match.end()
    if text[end : end + 1] == '"':
        return state, end + 1
    if text[end : end + 1] != "\\":
        return _invalid_character(text, end, "in string literal")
    if text[end + 1 : end + 2] != "u":
        return _invalid_character(text, end + 1, "in string escape code")
    position = next(
        (i for i in range(end + 2, end + 6) if text[i : i + 1] not in _HEX or i >= len(text)), end
    )
    return _invalid_character(text, position, "in \\u hexadecimal character escape")


def _number(text: str, at: int) -> _Next:
    match = _NUMBER.match(text, at)
    if match is None:
        return _invalid_character(text, at + 1, "in numeric literal")
    end = match.end()
    rest = text[end : end + 1]
    if rest == "." and "." not in match[0] and "e" not in match[0].lower():
        return _invalid_character(text, end + 1, "after decimal point in numeric literal")
    if rest in ("e", "E") and "e" not in match[0].lower():
        sign = text[end + 1 : end + 2] in ("+", "-")
        return _invalid_character(text, end + 1 + sign, "in exponent of numeric literal")
    return "after", end


def _literal(text: str, at: int, word: str) -> _Next:
    for index, expected in enumerate(word):
        if text[at + index : at + index + 1] != expected:
            return _invalid_character(text, at + index, f"in literal {word} (expecting '{expected}')")
    return "after", at + len(word)


def _invalid_character(text: str, at: int, where: str) -> str:
    """Return the error for a character. Go reads bytes: for a longer character it shows the first byte."""
    if at >= len(text):
        return _MISSING_END
    byte = text[at].encode(errors="surrogateescape")[0]
    escapes = {0x27: "\\'", 0x22: '"', 0x5C: "\\\\", 7: "\\a", 8: "\\b", 12: "\\f", 10: "\\n", 13: "\\r"}
    escapes |= {9: "\\t", 11: "\\v"}
    character = escapes.get(byte)
    if character is None:
        character = (
            chr(byte) if chr(byte).isprintable() else f"\\x{byte:02x}" if byte < 0x80 else f"\\u{byte:04x}"
        )
    return f"invalid character '{character}' {where}"


# Go's limit. The limit of values that are read into a message is far lower.
_MOST_LEVELS = 10_000
_STATES = {
    "value": _value,
    "first item": _first_item,
    "first name": _first_name,
    "name": _name,
    "colon": _colon,
    "after": _after,
}
