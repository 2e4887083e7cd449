"""Validate the schema of an operator's resource type. Pure.

It must compile, validate any value in linear time, and convert to camelCase without loss.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from controlplane.errors import FieldError
from controlplane.formats.json_schema import MAX_PATTERN_BYTES, ValidationError, compile_schema, pattern_bytes
from overrides.resolution.leaves import escape
from overrides.resource_types.casing import camel
from overrides.resource_types.schema_cost import MAX_CHECKS, EndlessReference, most_checks
from overrides.resource_types.subschemas import every_schema, patterns, target_of
from overrides.resource_types.validator import DocumentValidator

# Members that the overrides document adds to a type's attributes (documents.py).
MARKS = ("inherited", "source")
MAX_BYTES = 64 * 1024
_MAX_PATTERNS = 100
_REFERENCES = ("$ref", "$dynamicRef")
_NAMES = ("$id", "$anchor", "$dynamicAnchor")
_META = DocumentValidator({"$ref": "https://json-schema.org/draft/2020-12/schema"})


def schema_errors(schema: Mapping[str, Any]) -> list[FieldError]:
    """Return all errors of an operator's schema; pointers begin with `/schema`."""
    if len(json.dumps(schema)) > MAX_BYTES:
        return [FieldError("/schema", "too_long", f"A schema can have at most {MAX_BYTES} bytes.")]
    if errors := _META.errors(schema, "/schema"):
        return errors
    errors = [*_of_attributes(schema), *_references(schema), *_patterns(schema), *_same_in_camel_case(schema)]
    return errors or [*_compilation(schema), *_cost(schema)]


def compilation_error(schema: Mapping[str, Any], pointer: str) -> Iterator[FieldError]:
    """Yield the error if the validator cannot compile the schema."""
    try:
        compile_schema(schema)
    except ValidationError as error:
        location = pointer + "".join(f"/{escape(str(step))}" for step in error.instance_path)
        yield FieldError(location, "not_compiled", f"The schema cannot be compiled: {error.message}."[:300])


def _compilation(schema: Mapping[str, Any]) -> Iterator[FieldError]:
    return compilation_error(schema, "/schema")


def _of_attributes(schema: Mapping[str, Any]) -> Iterator[FieldError]:
    if schema.get("type") != "object":
        yield FieldError("/schema/type", "wrong_type", 'Attributes must be an object. Set "type": "object".')
    for mark in MARKS:
        if mark in schema.get("properties", {}):
            message = f"The overrides document reserves the member {mark!r}. Choose another name."
            yield FieldError(f"/schema/properties/{mark}", "reserved", message)


def _references(schema: Mapping[str, Any]) -> Iterator[FieldError]:
    """References must stay within the schema, and their targets must exist."""
    for pointer, inner in every_schema(schema, "/schema"):
        for keyword in _NAMES:
            if keyword in inner:
                message = f"{keyword} is not supported. Refer to definitions by their path in $defs."
                yield FieldError(f"{pointer}/{keyword}", "remote_reference", message)
        for keyword in _REFERENCES:
            if isinstance(reference := inner.get(keyword), str):
                yield from _bad_reference(schema, reference, f"{pointer}/{keyword}")


def _bad_reference(schema: Mapping[str, Any], reference: str, location: str) -> Iterator[FieldError]:
    if not reference.startswith("#/$defs/"):
        message = f"{location.rpartition('/')[2]} can only refer to definitions in this schema's $defs."
        yield FieldError(location, "remote_reference", message)
    elif not isinstance(target_of(reference, schema), Mapping | bool):
        message = f"{reference[:80]} does not exist in this schema. Add it to $defs or correct the reference."
        yield FieldError(location, "unknown_reference", message)


def _patterns(schema: Mapping[str, Any]) -> Iterator[FieldError]:
    pointers_and_patterns = list(patterns(schema))
    if len(pointers_and_patterns) > _MAX_PATTERNS:
        yield FieldError("/schema", "too_many", f"A schema can have at most {_MAX_PATTERNS} patterns.")
        return
    total = 0
    for pointer, pattern in pointers_and_patterns:
        if (size := pattern_bytes(pattern)) is None:
            yield FieldError(f"/schema{pointer}", "malformed", _BAD_PATTERN, _PATTERN_HINT)
        total += size or 0
    if total > MAX_PATTERN_BYTES:
        message = f"The patterns of a schema can compile to at most {MAX_PATTERN_BYTES // 1024} KiB together."
        yield FieldError("/schema", "too_large", message, _PATTERN_HINT)


def _same_in_camel_case(schema: Mapping[str, Any]) -> Iterator[FieldError]:
    """Members must differ in camelCase, the spelling of the overrides document."""
    for pointer, inner in every_schema(schema, "/schema"):
        spelled: dict[str, str] = {}
        for name in inner.get("properties", ()):
            if (other := spelled.setdefault(camel(name), name)) != name:
                message = f"{other!r} and {name!r} are the same in camelCase. Choose another name."
                yield FieldError(f"{pointer}/properties/{escape(name)}", "repeated_name", message)


def _cost(schema: Mapping[str, Any]) -> Iterator[FieldError]:
    try:
        checks = most_checks(schema)
    except (EndlessReference, RecursionError):
        message = "References in this schema are circular or nested too deeply."
        yield FieldError("/schema", "endless_reference", message)
        return
    if checks > MAX_CHECKS:
        message = (
            f"More than {MAX_CHECKS} subschemas would apply to one value. Use fewer nested alternatives."
        )
        yield FieldError("/schema", "too_intricate", message)


_BAD_PATTERN = "The pattern is invalid or too large."
_PATTERN_HINT = (
    "Lookaround, backreferences and Python's own syntax (\\Z, (?P=x)) are not supported. "
    "Use minLength and maxLength for long repetitions."
)
