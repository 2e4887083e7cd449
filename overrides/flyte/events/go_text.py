"""Identifiers as FlyteAdmin prints them: Go's text format of protobuf on one line. Pure.

Go adds a second space between fields in some of its builds, so that nobody can compare such texts by bytes.
We always write one space. Source: google.golang.org/protobuf/internal/encoding/text/encode.go.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.message import Message

from overrides.flyte.descriptors import Field

_NAMED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def go_text(message: Message) -> str:
    """Return the set fields of a message of texts, numbers, enums and messages, in their order."""
    return " ".join(_member(field, getattr(message, field.name)) for field, _ in message.ListFields())


def phase_name(kind: Any, number: int) -> str:
    """Return the name of an enum's number as Go prints it: its digits if it is unknown."""
    value = kind.values_by_number.get(number)
    return str(value.name) if value else str(number)


def _member(field: Field, value: Any) -> str:
    if field.is_repeated:
        return f"{field.name}:…"
    if field.message_type is not None:
        return f"{field.name}:{{{go_text(value)}}}"
    if field.enum_type is not None:
        return f"{field.name}:{phase_name(field.enum_type, value)}"
    return f"{field.name}:{_quoted(value) if isinstance(value, str) else value}"


def _quoted(text: str) -> str:
    return '"' + "".join(_NAMED.get(character) or _escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    number = ord(character)
    if number < 0x20 or number == 0x7F:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if 0x80 <= number <= 0x9F else character
