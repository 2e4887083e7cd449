"""Check that the database can store a message. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from google.protobuf.message import Message

from overrides.flyte.errors import invalid

_NUL = "\x00"


def check_storable(message: Message) -> None:
    """Raise FlyteError if a text contains NUL. All other texts of protobuf are UTF-8 and can be stored."""
    # Numbers contain zero bytes too, so a message with zero bytes needs a closer check.
    if b"\x00" in message.SerializeToString() and any(_NUL in text for text in _texts(message)):
        raise invalid("A text has a NUL character (U+0000), which cannot be stored. Remove it.")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Message):
        for _, member in value.ListFields():
            yield from _texts(member)
    elif isinstance(value, Mapping):
        for name in value:
            yield from _texts(name)
            yield from _texts(value[name])
    elif not isinstance(value, bool | int | float | bytes):
        for item in value:
            yield from _texts(item)
