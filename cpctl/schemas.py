"""JSON Schemas of resource types as text: fields, their types, limits and meaning. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any

from cpctl.output import as_text

Schema = Mapping[str, Any]
_WIDTH = 96
_LIMITS = {
    "enum": "one of",
    "const": "always",
    "minimum": "at least",
    "maximum": "at most",
    "exclusiveMinimum": "more than",
    "exclusiveMaximum": "less than",
    "minLength": "minimum length",
    "maxLength": "maximum length",
    "minItems": "minimum items",
    "maxItems": "maximum items",
    "pattern": "pattern",
    "format": "format",
    "examples": "such as",
    "default": "default",
}


def within(schema: Schema, path: list[str]) -> Schema | None:
    """Return the schema of a field; None if there is no such field. Names in snake or camel case."""
    if not path:
        return schema
    first, *rest = path
    for name, field in fields(schema).items():
        if name == first or _folded(name) == _folded(first):
            return within(field, rest)
    other = _of_items(schema) or _of_others(schema)
    return within(other, rest) if other is not None else None


def paths(schema: Schema, depth: int = 6) -> Iterator[str]:
    """Yield the dotted path of every field, such as `limits.cpu`."""
    for name, field in fields(schema).items() if depth else ():
        yield name
        yield from (f"{name}.{below}" for below in paths(field, depth - 1))


def fields(schema: Schema) -> Mapping[str, Schema]:
    """Return the fields of an object, or of the objects in a list."""
    if properties := schema.get("properties"):
        return dict(properties)
    items = _of_items(schema)
    return fields(items) if items else {}


def lines(title: str, schema: Schema) -> list[str]:
    """Return a description of a schema: its type, limits and meaning, and one entry for each field."""
    text = [f"{title}: {type_text(schema)}", *_about(schema, 2)]
    required = set(schema.get("required") or ())
    listed = fields(schema)
    if listed:
        text += ["", "Fields:"]
    for name, field in listed.items():
        mark = " (required)" if name in required else ""
        text += [f"  {name}: {type_text(field)}{mark}", *_about(field, 6)]
    if (other := _of_others(schema)) is not None:
        text += ["", f"Any other name: {type_text(other)}", *_about(other, 2)]
    return text


def type_text(schema: Schema) -> str:
    """Return a type in words, such as `list of string`; null is a removal everywhere, so it is left out."""
    named = schema.get("type")
    kinds = [kind for kind in (named if isinstance(named, list) else [named]) if kind and kind != "null"]
    if kinds == ["array"]:
        items = _of_items(schema)
        return f"list of {type_text(items)}" if items else "list"
    if kinds == ["object"] and not schema.get("properties") and (other := _of_others(schema)):
        return f"map of {type_text(other)}"
    return " or ".join(kinds) or ("any" if not schema.get("anyOf") else _alternatives(schema["anyOf"]))


def _alternatives(schemas: list[Schema]) -> str:
    return " or ".join(dict.fromkeys(type_text(schema) for schema in schemas if schema.get("type") != "null"))


def _about(schema: Schema, indent: int) -> Iterator[str]:
    space = " " * indent
    for line in wrap(str(schema.get("description") or ""), _WIDTH - indent):
        yield space + line
    if limits := [f"{words} {_value(schema[name])}" for name, words in _LIMITS.items() if name in schema]:
        yield space + "; ".join(limits)


def _value(value: Any) -> str:
    return ", ".join(map(as_text, value)) if isinstance(value, list) else as_text(value)


def _of_items(schema: Schema) -> Schema | None:
    items = schema.get("items")
    return items if isinstance(items, Mapping) else None


def _of_others(schema: Schema) -> Schema | None:
    """Return the schema of names that are not listed; None if there can be none."""
    others = schema.get("additionalProperties")
    return others if isinstance(others, Mapping) and others else None


def _folded(name: str) -> str:
    return name.replace("_", "").lower()
