"""JSON Schema (2020-12) validators that take linear time. Pure.

All validators of the project are compiled here. Patterns run on an engine without backtracking, references
are never fetched, and `format` is an annotation, as in 2020-12.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jsonschema_rs
from jsonschema_rs import Draft202012Validator as Validator
from jsonschema_rs import ValidationError

__all__ = ["MAX_PATTERN_BYTES", "ValidationError", "Validator", "compile_schema", "pattern_bytes"]

# Total size of all compiled patterns of a schema: the time to match is proportional to it.
# `^[a-z]{1,253}$` needs 32 KiB, `^.{1,100}$` 128 KiB (a character of Unicode has up to four bytes).
MAX_PATTERN_BYTES = 256 * 1024
_SMALLEST_BYTES = 1024
_DFA_BYTES = 1024 * 1024


def compile_schema(schema: Mapping[str, Any] | bool) -> Validator:
    """Return the validator of a schema.

    Raises ValidationError if the schema is malformed, has a dangling reference, or a pattern that is too
    large or requires backtracking.
    """
    return _validator(json.dumps(schema), MAX_PATTERN_BYTES)


@lru_cache(maxsize=4096)
def pattern_bytes(pattern: str) -> int | None:
    """Return the size of the compiled pattern, rounded up to a power of two; None if it is invalid."""
    schema = json.dumps({"pattern": pattern})
    size = _SMALLEST_BYTES
    while size <= MAX_PATTERN_BYTES:
        try:
            _validator(schema, size)
        except ValidationError:
            size *= 2
        else:
            return size
    return None


def _validator(schema: str, pattern_limit: int) -> Validator:
    options = jsonschema_rs.RegexOptions(size_limit=pattern_limit, dfa_size_limit=_DFA_BYTES)
    return Validator(schema, validate_formats=False, pattern_options=options, offline=True)
