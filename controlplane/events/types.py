"""Event types: each is registered once, with its meaning and the JSON Schema of its data. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.formats.json_schema import Validator, compile_schema

# JSON Schemas of common fields.
TEXT: dict[str, Any] = {"type": "string"}
INTEGER: dict[str, Any] = {"type": "integer"}
INTEGER_OR_NULL: dict[str, Any] = {"type": ["integer", "null"]}


@dataclass(frozen=True, slots=True)
class EventType:
    """`name` is `<object>.<past tense>`; `schema` describes `data` (JSON Schema 2020-12)."""

    name: str
    meaning: str
    schema: Mapping[str, Any]


_REGISTERED: dict[str, EventType] = {}
_VALIDATORS: dict[str, Validator] = {}


def register(name: str, meaning: str, /, **properties: Mapping[str, Any]) -> EventType:
    """Register a type whose data is an object with exactly these properties, all required."""
    schema = {
        "type": "object",
        "properties": dict(properties),
        "required": sorted(properties),
        "additionalProperties": False,
    }
    if name in _REGISTERED:
        raise ValueError(f"The event type {name} is registered twice.")
    _VALIDATORS[name] = compile_schema(schema)
    _REGISTERED[name] = EventType(name, meaning, schema)
    return _REGISTERED[name]


def registered() -> list[EventType]:
    return sorted(_REGISTERED.values(), key=lambda event_type: event_type.name)


def find(name: str) -> EventType | None:
    return _REGISTERED.get(name)


def check(event_type: EventType, data: Mapping[str, Any]) -> None:
    """Raise jsonschema_rs.ValidationError if the data does not match the type's schema."""
    _VALIDATORS[event_type.name].validate(data)
