"""Validate a document against a JSON Schema (2020-12), and list all errors. Pure.

The validator decides in microseconds, and lists the errors of invalid documents. It matches patterns without
backtracking, so no value in a request can block the process (docs/adr/0043).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cached_property
from itertools import islice
from typing import Any

from controlplane.errors import FieldError
from controlplane.formats.json_schema import ValidationError, Validator, compile_schema, pattern_bytes
from overrides.resource_types.diagnostics import Diagnostics
from overrides.resource_types.sizes import size_errors
from overrides.resource_types.subschemas import patterns

_MAX_ERRORS = 200
# Matching takes at worst 80 ps for each byte of pattern and each byte of text: 1.6 s for a document.
_MAX_WORK = 20_000_000_000


class DocumentValidator:
    """A schema, compiled on first use.

    trusted: the patterns are built in. bounded: limit the document's size; effective attributes are merged
    from documents that were limited one by one, so they need no limit.
    """

    def __init__(self, schema: Mapping[str, Any], *, trusted: bool = True, bounded: bool = True) -> None:
        self._schema = schema
        self._trusted = trusted
        self._bounded = bounded

    def errors(self, document: Any, pointer: str) -> list[FieldError]:
        """Return all errors; `pointer` is the document's location in the request body."""
        validator = self._validator
        if validator is None:
            return [FieldError(pointer, "unusable_schema", _UNUSABLE)]
        too_large = size_errors(document, pointer, max_bytes=self._max_bytes) if self._bounded else []
        if too_large or validator.is_valid(document):
            return too_large
        diagnostics = Diagnostics(self._schema, document, pointer)
        errors = (
            field_error for error in validator.iter_errors(document) for field_error in diagnostics.of(error)
        )
        unique = list(dict.fromkeys(islice(errors, _MAX_ERRORS)))
        return unique or [FieldError(pointer, "invalid", "The document does not match its schema.")]

    @cached_property
    def _validator(self) -> Validator | None:
        """The compiled schema; None for one stored when Python's engine, which accepts more, compiled it."""
        try:
            return compile_schema(self._schema)
        except ValidationError:
            return None

    @cached_property
    def _max_bytes(self) -> int:
        if self._trusted:
            return sys.maxsize
        total = sum(pattern_bytes(pattern) or 0 for _, pattern in patterns(self._schema))
        return _MAX_WORK // total if total else sys.maxsize


_UNUSABLE = (
    "The schema of this resource type no longer compiles, so nothing can be set. "
    "Ask an administrator to correct it with PUT /api/v1/resource-types."
)
