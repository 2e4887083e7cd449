"""Size limits of one document of attributes, whatever its schema. Pure."""

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
# A document below this size cannot exceed any limit: each value takes at least two bytes.
_SURELY_SMALL_BYTES = 2 * MAX_VALUES
# The largest double: JSON readers of most languages, and Flyte's Struct, read numbers as doubles.
_LARGEST_NUMBER = int(sys.float_info.max)
_LONG_NUMBER = re.compile(rb"[0-9]{309}")


def size_errors(document: Any, pointer: str, *, max_bytes: int) -> list[FieldError]:
    """Return size errors. max_bytes: of the document as JSON, given the cost of its schema's patterns."""
    encoded = _encoded(document)
    if encoded is None:
        return list(_value_errors(document, pointer))
    if len(encoded) > max_bytes:
        return [_too_large(pointer, f"{len(encoded)} bytes of JSON; its patterns allow {max_bytes}")]
    is_small = len(encoded) <= _SURELY_SMALL_BYTES and not _LONG_NUMBER.search(encoded)
    return [] if is_small else list(_value_errors(document, pointer))


def _encoded(document: Any) -> bytes | None:
    try:
        return msgspec.json.encode(document)
    except (OverflowError, TypeError):  # mappings that are not a dict
        return None


def _value_errors(document: Any, pointer: str) -> Iterator[FieldError]:
    count = 0
    pending: list[tuple[Any, str]] = [(document, pointer)]
    while pending:
        value, location = pending.pop()
        count += 1
        if count > MAX_VALUES:
            yield _too_large(pointer, f"more than {MAX_VALUES} values")
            return
        if isinstance(value, Mapping):
            pending += [(member, f"{location}/{escape(name)}") for name, member in value.items()]
            if any(len(name) > MAX_TEXT_CHARACTERS for name in value):
                yield _long_text(location)
        elif isinstance(value, list):
            pending += [(item, f"{location}/{index}") for index, item in enumerate(value)]
        elif isinstance(value, str) and len(value) > MAX_TEXT_CHARACTERS:
            yield _long_text(location)
        elif isinstance(value, int) and abs(value) > _LARGEST_NUMBER:
            yield FieldError(location, "out_of_range", "The number is too large for a double.")


def _long_text(location: str) -> FieldError:
    message = f"The text is longer than {MAX_TEXT_CHARACTERS} characters."
    return FieldError(location, "too_long", message)


def _too_large(pointer: str, amount: str) -> FieldError:
    return FieldError(pointer, "too_large", f"The document is too large: it has {amount}.")
