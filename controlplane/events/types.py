"""Event types: each registered once, with its meaning in one line and a JSON Schema of its data. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jsonschema_rs
from jsonschema import Draft202012Validator


@dataclass(frozen=True, slots=True)
class EventType:
    """`name` is `<object>.<past tense>`; `schema` describes `data` (JSON Schema 2020-12)."""

    name: str
    meaning: str
    schema: Mapping[str, Any]


_REGISTERED: dict[str, EventType] = {}
_VALIDATORS: dict[str, Draft202012Validator] = {}
# Ten times as fast, for the usual case that nothing is wrong.
_QUICK: dict[str, jsonschema_rs.Draft202012Validator] = {}


def register(name: str, meaning: str, /, **properties: Mapping[str, Any]) -> EventType:
    """Register a type whose data is an object with exactly these properties, all required."""
    schema = {
        "type": "object",
        "properties": dict(properties),
        "required": sorted(properties),
        "additionalProperties": False,
    }
    Draft202012Validator.check_schema(schema)
    if name in _REGISTERED:
        raise ValueError(f"the event type {name} is registered twice")
    _REGISTERED[name] = EventType(name, meaning, schema)
    _VALIDATORS[name] = Draft202012Validator(schema)
    _QUICK[name] = jsonschema_rs.Draft202012Validator(json.dumps(schema))
    return _REGISTERED[name]


def registered() -> list[EventType]:
    return sorted(_REGISTERED.values(), key=lambda event_type: event_type.name)


def check(event_type: EventType, data: Mapping[str, Any]) -> None:
    """Raise jsonschema.ValidationError if the data is not what the type promises."""
    if not _QUICK[event_type.name].is_valid(data):
        _VALIDATORS[event_type.name].validate(data)
