"""snake_case as stored, camelCase as the overrides document shows it. Pure.

Only names that the schema declares change: the keys of free maps, such as labels, are somebody's data.
protobuf's JSON names are made the same way (`k8s_service_account` is `k8sServiceAccount`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

from controlplane.errors import FieldError, InvalidAttributes
from overrides.resolution.leaves import escape
from overrides.resource_types.subschemas import target_of

Schema = Mapping[str, Any]


@lru_cache(maxsize=4096)
def camel(name: str) -> str:
    return re.sub(r"_([a-z0-9])", lambda found: found[1].upper(), name)


def camel_of(document: Any, schema: Schema) -> Any:
    """The document with the schema's names in camelCase."""
    return _renamed(document, schema, schema)


def snake_of(document: Any, schema: Schema, pointer: str) -> Any:
    """The document with the schema's names as the schema has them; both casings are understood."""
    return _read(document, schema, schema, pointer)


def _renamed(document: Any, schema: Schema, root: Schema) -> Any:
    schema = _target(schema, root)
    if isinstance(document, Mapping):
        return {
            camel(name) if name in schema.get("properties", ()) else name: _renamed(
                value, _member(schema, name), root
            )
            for name, value in document.items()
        }
    if isinstance(document, list):
        return [_renamed(item, _items(schema), root) for item in document]
    return document


def _read(document: Any, schema: Schema, root: Schema, pointer: str) -> Any:
    schema = _target(schema, root)
    if isinstance(document, list):
        items = _items(schema)
        return [_read(item, items, root, f"{pointer}/{index}") for index, item in enumerate(document)]
    if isinstance(document, float):
        return _stored_number(document)
    if not isinstance(document, dict):
        return document
    spelled = {camel(name): name for name in schema.get("properties", ())}
    read: dict[str, Any] = {}
    for said, value in document.items():
        name = said if said in schema.get("properties", ()) else str(spelled.get(said, said))
        where = f"{pointer}/{escape(said)}"
        if name in read:
            message = f"{name} is given in both casings, snake_case and camelCase."
            raise InvalidAttributes(message, errors=[FieldError(where, "given_twice", message)])
        read[name] = _read(value, _member(schema, name), root, where)
    return read


def _stored_number(number: float) -> float | int:
    """As jsonb gives it back: without a negative zero, and 1e16 written out."""
    if abs(number) >= 1e16:
        return int(Decimal(repr(number)))
    return number or 0.0


def _member(schema: Schema, name: str) -> Schema:
    found = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
    return found if isinstance(found, Mapping) else {}


def _items(schema: Schema) -> Schema:
    found = schema.get("items")
    return found if isinstance(found, Mapping) else {}


def _target(schema: Schema, root: Schema) -> Schema:
    """Follow a reference into the schema's own definitions; a loop of references ends nowhere."""
    for _ in range(8):
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return schema
        target = target_of(reference, root)
        schema = target if isinstance(target, Mapping) else {}
    return {}
