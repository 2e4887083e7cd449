"""Convert between snake_case, as stored, and camelCase, as in the overrides document. Pure.

Only names that the schema declares change: the keys of free maps, such as labels, are user data.
protobuf's JSON names follow the same rule (`k8s_service_account` is `k8sServiceAccount`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from controlplane.errors import FieldError, InvalidAttributes
from overrides.resolution.leaves import escape
from overrides.resource_types.subschemas import target_of

Schema = Mapping[str, Any]
# For each object of one schema, by identity: every accepted name, and the stored name.
Spellings = dict[int, dict[str, str]]


@lru_cache(maxsize=4096)
def camel(name: str) -> str:
    return re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), name)


def camel_of(document: Any, schema: Schema) -> Any:
    """Return the document with the schema's names in camelCase."""
    return _in_camel_case(document, schema, schema)


def snake_of(document: Any, schema: Schema, pointer: str, spellings: Spellings | None = None) -> Any:
    """Return the document with names as in the schema; accept both casings.

    spellings: kept by the caller for the next document of this schema.
    """
    return _in_snake_case(document, schema, _Reading(schema, {} if spellings is None else spellings), pointer)


def _in_camel_case(document: Any, schema: Schema, root: Schema) -> Any:
    schema = _target(schema, root)
    if isinstance(document, Mapping):
        return {
            camel(name) if name in schema.get("properties", ()) else name: _in_camel_case(
                value, _member(schema, name), root
            )
            for name, value in document.items()
        }
    if isinstance(document, list):
        return [_in_camel_case(item, _items(schema), root) for item in document]
    return document


def _in_snake_case(document: Any, schema: Schema, reading: _Reading, pointer: str) -> Any:
    if type(document) is str:
        return document
    if "$ref" in schema:
        schema = _target(schema, reading.root)
    if isinstance(document, list):
        items = _items(schema)
        return [
            _in_snake_case(item, items, reading, f"{pointer}/{index}") for index, item in enumerate(document)
        ]
    if isinstance(document, float):
        return _stored_number(document)
    if not isinstance(document, dict):
        return document
    names: dict[str, str] = reading.names_in(schema)
    result: dict[str, Any] = {}
    for member, value in document.items():
        name = str(names.get(member, member))
        location = f"{pointer}/{escape(member)}"
        if name in result:
            message = f"{name} appears in both snake_case and camelCase. Keep one of them."
            raise InvalidAttributes(message, errors=[FieldError(location, "given_twice", message)])
        result[name] = _in_snake_case(value, _member(schema, name), reading, location)
    return result


@dataclass(frozen=True, slots=True)
class _Reading:
    """The schema of the whole document, which references start from, and the names found in its objects."""

    root: Schema
    spellings: Spellings

    def names_in(self, schema: Schema) -> dict[str, str]:
        properties = schema.get("properties")
        if not properties:
            return {}
        if (names := self.spellings.get(id(schema))) is None:
            names = {camel(name): name for name in properties} | {name: name for name in properties}
            self.spellings[id(schema)] = names
        return names


def _stored_number(number: float) -> float | int:
    """Return the number as jsonb returns it: without a negative zero, and 1e16 written out."""
    if abs(number) >= 1e16:
        return int(Decimal(repr(number)))
    return number or 0.0


def _member(schema: Schema, name: str) -> Schema:
    subschema = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
    return subschema if isinstance(subschema, Mapping) else {}


def _items(schema: Schema) -> Schema:
    subschema = schema.get("items")
    return subschema if isinstance(subschema, Mapping) else {}


def _target(schema: Schema, root: Schema) -> Schema:
    """Follow a reference into the schema's own definitions; return an empty schema for a loop."""
    for _ in range(8):
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return schema
        target = target_of(reference, root)
        schema = target if isinstance(target, Mapping) else {}
    return {}
