"""How large one document of attributes may be, whatever its schema says. Pure."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from controlplane.errors import FieldError
from overrides.resolution.leaves import escape

MAX_TEXT_CHARACTERS = 64 * 1024
MAX_VALUES = 10_000
# Below this no document can have too much of anything: each value takes two bytes at least.
_SURELY_SMALL_BYTES = 2 * MAX_VALUES
# What a double can hold: JSON readers of most languages, and Flyte's Struct, read numbers as doubles.
_LARGEST_NUMBER = int(sys.float_info.max)
_LONG_NUMBER = re.compile(rb"[0-9]{309}")


def size_errors(document: Any, pointer: str, *, max_bytes: int) -> list[FieldError]:
    """Return what is too large. max_bytes: of the document as JSON, as far as its schema's patterns allow."""
    encoded = _encoded(document)
    if encoded is None:
        return list(_of_values(document, pointer))
    if len(encoded) > max_bytes:
        return [_too_large(pointer, f"{len(encoded)} bytes of JSON; its patterns allow {max_bytes}")]
    small = len(encoded) <= _SURELY_SMALL_BYTES and not _LONG_NUMBER.search(encoded)
    return [] if small else list(_of_values(document, pointer))


def _encoded(document: Any) -> bytes | None:
    try:
        return msgspec.json.encode(document)
    except (OverflowError, TypeError):  # mappings that are no dict
        return None


def _of_values(document: Any, pointer: str) -> Iterator[FieldError]:
    count = 0
    left: list[tuple[Any, str]] = [(document, pointer)]
    while left:
        value, where = left.pop()
        count += 1
        if count > MAX_VALUES:
            yield _too_large(pointer, f"more than {MAX_VALUES} values")
            return
        if isinstance(value, Mapping):
            left += [(member, f"{where}/{escape(name)}") for name, member in value.items()]
            if any(len(name) > MAX_TEXT_CHARACTERS for name in value):
                yield _long_text(where)
        elif isinstance(value, list):
            left += [(item, f"{where}/{index}") for index, item in enumerate(value)]
        elif isinstance(value, str) and len(value) > MAX_TEXT_CHARACTERS:
            yield _long_text(where)
        elif isinstance(value, int) and abs(value) > _LARGEST_NUMBER:
            yield FieldError(where, "out_of_range", "The number is larger than a double can hold.")


def _long_text(where: str) -> FieldError:
    message = f"The text is longer than {MAX_TEXT_CHARACTERS} characters."
    return FieldError(where, "too_long", message)


def _too_large(pointer: str, amount: str) -> FieldError:
    return FieldError(pointer, "too_large", f"The document is too large: it has {amount}.")
