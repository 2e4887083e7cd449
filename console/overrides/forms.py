"""A form generated from a schema: each field edits one location of the YAML document. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from console.overrides import pairs
from console.overrides.value_text import format_value, readable
from controlplane.errors import MalformedBody
from controlplane.formats import strict_yaml
from overrides.resolution.leaves import escape
from overrides.resolution.merging import Attributes

# Values of a select for inheriting, and for removing the inherited value.
INHERIT, NONE = "", "~"
_ABSENT: Any = object()


@dataclass(frozen=True, slots=True)
class FormField:
    """A form field. kind: text, choice, pairs or part. A part (list or map) is edited as YAML.

    inherited: the inherited value as text. rows: names and values of pairs; inherited_pairs: those that no
    row replaces. error: what is wrong with the value.
    """

    pointer: str
    label: str
    kind: str
    value: str
    choices: tuple[tuple[str, str], ...]
    hint: str
    inherited: str
    rows: tuple[pairs.Row, ...] = ()
    inherited_pairs: tuple[str, ...] = ()
    error: str = ""


def fields_of(schema: Mapping[str, Any], attributes: Attributes, inherited: Attributes) -> list[FormField]:
    """Return a field for each location that the schema declares, in its order."""
    return list(_fields(schema, attributes, inherited, "", schema))


def with_field(attributes: Attributes, schema: Mapping[str, Any], pointer: str, text: str) -> dict[str, Any]:
    """Return the attributes with the new value of one field. Raises MalformedBody for invalid YAML."""
    steps = _steps(pointer)
    value = _from_text(_schema_at(schema, steps), text)
    return _with_value(attributes, steps, value)


def with_pairs(
    attributes: Attributes, schema: Mapping[str, Any], pointer: str, rows: Sequence[pairs.Row]
) -> dict[str, Any]:
    """Return the attributes with the pairs of one field; without rows, they are inherited."""
    steps = _steps(pointer)
    value = pairs.value_of(_schema_at(schema, steps), rows)
    return _with_value(attributes, steps, value or _ABSENT)


def _steps(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _fields(
    schema: Mapping[str, Any], value: Any, inherited: Any, pointer: str, root: Mapping[str, Any]
) -> Iterator[FormField]:
    for name, declared in schema.get("properties", {}).items():
        member = follow_reference(declared, root)
        where = f"{pointer}/{escape(name)}"
        own, below = _member(value, name), _member(inherited, name)
        if member.get("properties") and own is not None:
            yield from _fields(member, own, below, where, root)
        else:
            yield _field(member, own, below, where)


def _field(schema: Mapping[str, Any], own: Any, below: Any, pointer: str) -> FormField:
    inherited = "" if below is _ABSENT or below is None else format_value(below)
    choices = _choices(schema, inherited)
    rows = _rows(schema, own)
    kind = "choice" if choices else "text" if _is_scalar(schema) else "part" if rows is None else "pairs"
    return FormField(
        pointer,
        readable(pointer),
        kind,
        _to_text(own, kind),
        choices,
        schema.get("description", ""),
        inherited,
        rows or (),
        pairs.inherited_lines(schema, below, rows or ()),
    )


def _rows(schema: Mapping[str, Any], own: Any) -> tuple[pairs.Row, ...] | None:
    """Return the rows of a field of pairs; None if it is edited as YAML."""
    if own is _ABSENT:
        return () if pairs.are_pairs(schema) else None
    return pairs.rows_of(schema, own)


def _choices(schema: Mapping[str, Any], inherited: str) -> tuple[tuple[str, str], ...]:
    if "boolean" in _types(schema):
        values = ["true", "false"]
    elif "enum" in schema:
        values = [format_value(value) for value in schema["enum"] if value is not None]
    else:
        return ()
    first = f"inherit ({inherited})" if inherited else "inherit"
    return ((INHERIT, first), *((value, value) for value in values), (NONE, "remove inherited value"))


def _to_text(value: Any, kind: str) -> str:
    if value is _ABSENT:
        return INHERIT
    if value is None:
        return NONE
    if kind == "part":
        return strict_yaml.dump(value).strip()
    return value if isinstance(value, str) else json.dumps(value)


def _from_text(schema: Mapping[str, Any], text: str) -> Any:
    """Convert the input by the schema's type. Values of another type are rejected by the validation."""
    value = text.strip()
    if value in (INHERIT, NONE):
        return _ABSENT if value == INHERIT else None
    if _types(schema) <= {"string", "null"} and _is_scalar(schema):
        return value
    return strict_yaml.load(value)


def _with_value(value: Any, steps: list[str], leaf: Any) -> dict[str, Any]:
    """Return the object with the value at the location; remove objects that become empty."""
    document = dict(value) if isinstance(value, Mapping) else {}
    name, rest = steps[0], steps[1:]
    below = _with_value(document.get(name), rest, leaf) if rest else leaf
    if below is _ABSENT or (rest and not below):
        document.pop(name, None)
    else:
        document[name] = below
    return document


def _member(value: Any, name: str) -> Any:
    return value.get(name, _ABSENT) if isinstance(value, Mapping) else _ABSENT


def _schema_at(schema: Mapping[str, Any], steps: list[str]) -> Mapping[str, Any]:
    current = schema
    for step in steps:
        current = follow_reference(current.get("properties", {}).get(step) or {}, schema)
        if not current:
            raise MalformedBody(f"The form has no field {readable('/' + '/'.join(steps))}. Reload the page.")
    return current


def follow_reference(declared: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow one reference into the schema's $defs; deeper ones are edited as YAML."""
    if not isinstance(declared, Mapping):
        return {}
    reference = declared.get("$ref", "")
    definition = root.get("$defs", {}).get(reference.rpartition("/")[2]) if reference else declared
    return definition if isinstance(definition, Mapping) else {}


def _types(schema: Mapping[str, Any]) -> set[str]:
    types = schema.get("type", [])
    return {types} if isinstance(types, str) else set(types)


def _is_scalar(schema: Mapping[str, Any]) -> bool:
    return bool(_types(schema)) and not _types(schema) & {"object", "array"}
