"""May a schema that somebody sends be the schema of a resource type? Pure.

It must compile, take linear time whatever value it meets, and be told in camelCase without loss.
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
from overrides.resource_types.validator import Checker

# What the overrides document puts beside a type's attributes (documents.py).
MARKS = ("inherited", "source")
MAX_BYTES = 64 * 1024
_MAX_PATTERNS = 100
_REFERENCES = ("$ref", "$dynamicRef")
_NAMES = ("$id", "$anchor", "$dynamicAnchor")
_META = Checker({"$ref": "https://json-schema.org/draft/2020-12/schema"})


def schema_errors(schema: Mapping[str, Any]) -> list[FieldError]:
    """Return everything that is wrong with an operator's schema; pointers begin with `/schema`."""
    if len(json.dumps(schema)) > MAX_BYTES:
        return [FieldError("/schema", "too_long", f"A schema has {MAX_BYTES} bytes at most.")]
    if found := _META.errors(schema, "/schema"):
        return found
    found = [*_of_attributes(schema), *_references(schema), *_patterns(schema), *_same_in_camel_case(schema)]
    return found or [*_compilation(schema), *_cost(schema)]


def compilation_error(schema: Mapping[str, Any], pointer: str) -> Iterator[FieldError]:
    """Yield why the validator cannot compile the schema."""
    try:
        compile_schema(schema)
    except ValidationError as error:
        where = pointer + "".join(f"/{escape(str(step))}" for step in error.instance_path)
        yield FieldError(where, "not_compiled", f"The schema cannot be compiled: {error.message}."[:300])


def _compilation(schema: Mapping[str, Any]) -> Iterator[FieldError]:
    return compilation_error(schema, "/schema")


def _of_attributes(schema: Mapping[str, Any]) -> Iterator[FieldError]:
    if schema.get("type") != "object":
        yield FieldError("/schema/type", "wrong_type", 'Attributes are an object: say "type": "object".')
    for mark in MARKS:
        if mark in schema.get("properties", {}):
            message = f"The overrides document uses {mark!r} for itself. Choose another name."
            yield FieldError(f"/schema/properties/{mark}", "reserved", message)


def _references(schema: Mapping[str, Any]) -> Iterator[FieldError]:
    """Nothing may be fetched from elsewhere, and what is referred to must exist."""
    for pointer, inner in every_schema(schema, "/schema"):
        for word in _NAMES:
            if word in inner:
                message = f"{word} is not supported. Refer to definitions by their path in $defs."
                yield FieldError(f"{pointer}/{word}", "remote_reference", message)
        for word in _REFERENCES:
            if isinstance(reference := inner.get(word), str):
                yield from _bad_reference(schema, reference, f"{pointer}/{word}")


def _bad_reference(schema: Mapping[str, Any], reference: str, where: str) -> Iterator[FieldError]:
    if not reference.startswith("#/$defs/"):
        message = f"{where.rpartition('/')[2]} may only refer to this schema's own $defs."
        yield FieldError(where, "remote_reference", message)
    elif not isinstance(target_of(reference, schema), Mapping | bool):
        message = f"There is no {reference[:80]} in this schema. Add it to $defs or correct the reference."
        yield FieldError(where, "unknown_reference", message)


def _patterns(schema: Mapping[str, Any]) -> Iterator[FieldError]:
    found = list(patterns(schema))
    if len(found) > _MAX_PATTERNS:
        yield FieldError("/schema", "too_many", f"A schema has {_MAX_PATTERNS} patterns at most.")
        return
    total = 0
    for pointer, pattern in found:
        if (size := pattern_bytes(pattern)) is None:
            yield FieldError(f"/schema{pointer}", "malformed", _BAD_PATTERN, _PATTERN_HINT)
        total += size or 0
    if total > MAX_PATTERN_BYTES:
        message = f"The patterns of a schema compile to {MAX_PATTERN_BYTES // 1024} KiB at most together."
        yield FieldError("/schema", "too_large", message, _PATTERN_HINT)


def _same_in_camel_case(schema: Mapping[str, Any]) -> Iterator[FieldError]:
    """The overrides document could not tell such members from each other."""
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
        message = "References of this schema lead back to themselves, or are nested too deeply."
        yield FieldError("/schema", "endless_reference", message)
        return
    if checks > MAX_CHECKS:
        message = (
            f"More than {MAX_CHECKS} subschemas would apply to one value. Use fewer nested alternatives."
        )
        yield FieldError("/schema", "too_intricate", message)


_BAD_PATTERN = "The pattern cannot be compiled, or it is too large."
_PATTERN_HINT = (
    "Lookaround, backreferences and Python's own syntax (\\Z, (?P=x)) are not supported. "
    "Use minLength and maxLength for long repetitions."
)
