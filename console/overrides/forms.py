"""A form made from a schema, beside the YAML that it edits: each field is one place of the document. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from console.overrides.ladder import in_words, readable
from controlplane.errors import MalformedBody
from controlplane.formats import strict_yaml
from overrides.resolution.leaves import escape
from overrides.resolution.merging import Attributes

# What a select says where the scope inherits, and where it removes what it would inherit.
INHERIT, NONE = "", "~"
_ABSENT: Any = object()


@dataclass(frozen=True, slots=True)
class FormField:
    """kind: text, choice or part. A part (list, map) is edited as YAML of its own.

    inherited: what applies if nothing is said here, in words.
    """

    pointer: str
    label: str
    kind: str
    value: str
    choices: tuple[tuple[str, str], ...]
    hint: str
    inherited: str


def fields_of(schema: Mapping[str, Any], attributes: Attributes, inherited: Attributes) -> list[FormField]:
    """One field for each place that the schema declares, in its order."""
    return list(_fields(schema, attributes, inherited, "", schema))


def with_field(attributes: Attributes, schema: Mapping[str, Any], pointer: str, text: str) -> dict[str, Any]:
    """The attributes with one field as it was filled in. Raises MalformedBody for a part that is no YAML."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    value = _read(_schema_at(schema, steps), text)
    return _placed(attributes, steps, value)


def _fields(
    schema: Mapping[str, Any], value: Any, inherited: Any, pointer: str, root: Mapping[str, Any]
) -> Iterator[FormField]:
    for name, declared in schema.get("properties", {}).items():
        member = _resolved(declared, root)
        where = f"{pointer}/{escape(name)}"
        own, below = _member(value, name), _member(inherited, name)
        if member.get("properties") and own is not None:
            yield from _fields(member, own, below, where, root)
        else:
            yield _field(member, own, below, where)


def _field(schema: Mapping[str, Any], own: Any, below: Any, pointer: str) -> FormField:
    inherited = "" if below is _ABSENT or below is None else in_words(below)
    words = _choices(schema, inherited)
    kind = "choice" if words else "text" if _is_scalar(schema) else "part"
    return FormField(
        pointer,
        readable(pointer),
        kind,
        _written(own, kind),
        words,
        schema.get("description", ""),
        inherited,
    )


def _choices(schema: Mapping[str, Any], inherited: str) -> tuple[tuple[str, str], ...]:
    if "boolean" in _types(schema):
        values = ["true", "false"]
    elif "enum" in schema:
        values = [in_words(one) for one in schema["enum"] if one is not None]
    else:
        return ()
    first = f"inherit ({inherited})" if inherited else "inherit"
    return ((INHERIT, first), *((one, one) for one in values), (NONE, "remove what is inherited"))


def _written(own: Any, kind: str) -> str:
    if own is _ABSENT:
        return INHERIT
    if own is None:
        return NONE
    if kind == "part":
        return strict_yaml.dump(own).strip()
    return own if isinstance(own, str) else json.dumps(own)


def _read(schema: Mapping[str, Any], text: str) -> Any:
    """What was filled in, by the schema's type. What does not fit is left to the check."""
    said = text.strip()
    if said in (INHERIT, NONE):
        return _ABSENT if said == INHERIT else None
    if _types(schema) <= {"string", "null"} and _is_scalar(schema):
        return said
    return strict_yaml.load(said)


def _placed(value: Any, steps: list[str], new: Any) -> dict[str, Any]:
    """The object with the value at the place; what becomes empty on the way is taken out."""
    found = dict(value) if isinstance(value, Mapping) else {}
    name, rest = steps[0], steps[1:]
    below = _placed(found.get(name), rest, new) if rest else new
    if below is _ABSENT or (rest and not below):
        found.pop(name, None)
    else:
        found[name] = below
    return found


def _member(value: Any, name: str) -> Any:
    return value.get(name, _ABSENT) if isinstance(value, Mapping) else _ABSENT


def _schema_at(schema: Mapping[str, Any], steps: list[str]) -> Mapping[str, Any]:
    at = schema
    for step in steps:
        at = _resolved(at.get("properties", {}).get(step) or {}, schema)
        if not at:
            raise MalformedBody(f"The form has no field {readable('/' + '/'.join(steps))}. Reload the page.")
    return at


def _resolved(declared: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """A reference into the schema's own $defs is followed once; deeper ones are edited as YAML."""
    if not isinstance(declared, Mapping):
        return {}
    reference = declared.get("$ref", "")
    found = root.get("$defs", {}).get(reference.rpartition("/")[2]) if reference else declared
    return found if isinstance(found, Mapping) else {}


def _types(schema: Mapping[str, Any]) -> set[str]:
    said = schema.get("type", [])
    return {said} if isinstance(said, str) else set(said)


def _is_scalar(schema: Mapping[str, Any]) -> bool:
    return bool(_types(schema)) and not _types(schema) & {"object", "array"}
