"""Traverse a JSON Schema (2020-12): its subschemas, patterns and references. Pure.

Only keywords that hold schemas are followed: a member named `pattern`, or a constant that looks like a
schema, is data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from overrides.resolution.leaves import escape

# Keywords whose subschemas apply to the same value as the schema itself.
_SAME_VALUE = ("if", "then", "else", "not")
_SAME_VALUE_LISTS = ("allOf", "anyOf", "oneOf")
_SAME_VALUE_MAPS = ("dependentSchemas",)
# Keywords whose subschemas apply to members or items of the value.
_BELOW = (
    *("additionalProperties", "propertyNames", "unevaluatedProperties"),
    *("items", "contains", "unevaluatedItems", "contentSchema"),
)
_BELOW_LISTS = ("prefixItems",)
_BELOW_MAPS = ("properties", "patternProperties")
_DEFINITIONS = "$defs"


@dataclass(frozen=True, slots=True)
class Subschema:
    """A nested schema. keyword: its parent. step: its name or index there. below: of members or items."""

    keyword: str
    step: str
    schema: Any
    below: bool

    @property
    def pointer(self) -> str:
        """JSON Pointer from the containing schema."""
        return f"/{escape(self.keyword)}/{escape(self.step)}" if self.step else f"/{escape(self.keyword)}"


def subschemas(schema: Any) -> Iterator[Subschema]:
    """Yield the schemas directly inside a schema, except its definitions."""
    if not isinstance(schema, Mapping):
        return
    for keyword, value in schema.items():
        if keyword in _SAME_VALUE or keyword in _BELOW:
            yield Subschema(keyword, "", value, keyword in _BELOW)
        elif keyword in (*_SAME_VALUE_LISTS, *_BELOW_LISTS) and isinstance(value, list):
            for index, item in enumerate(value):
                yield Subschema(keyword, str(index), item, keyword in _BELOW_LISTS)
        elif keyword in (*_SAME_VALUE_MAPS, *_BELOW_MAPS) and isinstance(value, Mapping):
            for name, member in value.items():
                yield Subschema(keyword, name, member, keyword in _BELOW_MAPS)


def every_schema(schema: Any, pointer: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the schema and all schemas inside it, with their JSON Pointers."""
    if not isinstance(schema, Mapping):
        return
    yield pointer, schema
    for inner in subschemas(schema):
        yield from every_schema(inner.schema, pointer + inner.pointer)
    definitions = schema.get(_DEFINITIONS)
    for name, definition in definitions.items() if isinstance(definitions, Mapping) else ():
        yield from every_schema(definition, f"{pointer}/{_DEFINITIONS}/{escape(name)}")


def patterns(schema: Any) -> Iterator[tuple[str, str]]:
    """Yield every regular expression of a schema, with its JSON Pointer."""
    for pointer, inner in every_schema(schema):
        if isinstance(pattern := inner.get("pattern"), str):
            yield f"{pointer}/pattern", pattern
        members = inner.get("patternProperties")
        for name in members if isinstance(members, Mapping) else ():
            yield f"{pointer}/patternProperties/{escape(name)}", name


def target_of(reference: str, root: Any) -> Any:
    """Return the target of a reference into the document's own definitions, or None."""
    target = root
    for step in reference.removeprefix("#").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(target, list):
            target = target[int(name)] if name.isdecimal() and int(name) < len(target) else None
        else:
            target = target.get(name) if isinstance(target, Mapping) else None
    return target
