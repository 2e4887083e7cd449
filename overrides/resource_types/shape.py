"""The JSON Schema of an operator's type definition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controlplane.errors import InvalidTypeDefinition
from controlplane.scopes import LEVEL_NAMES
from overrides.resolution.merging import Combine, Strategy
from overrides.resource_types.validator import DocumentValidator

MERGE_BY_KEY = "merge_by_key"
RULES = [MERGE_BY_KEY, *(rule.value for rule in Combine)]
_TEXT = {"type": "string", "maxLength": 500}

DEFINITION: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {**_TEXT, "minLength": 1},
        "title": _TEXT,
        "meaning": _TEXT,
        "document_key": _TEXT,
        "schema": {"type": "object"},
        "strategy": {"enum": [rule.value for rule in Strategy]},
        "merge": {
            "type": "array",
            "maxItems": 100,
            "items": {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "pattern": "^/", "maxLength": 500},
                    "rule": {"enum": RULES},
                    "key": {"type": "string", "minLength": 1, "maxLength": 100},
                },
                "required": ["path", "rule"],
                "additionalProperties": False,
            },
        },
        "references": {
            "type": "array",
            "maxItems": 20,
            "items": {
                "type": "object",
                "properties": {
                    "resource_type": {**_TEXT, "minLength": 1},
                    "path": {"type": "string", "pattern": "^/", "maxLength": 500},
                    "to": {"type": "string", "pattern": "^/", "maxLength": 500},
                },
                "required": ["resource_type", "path", "to"],
                "additionalProperties": False,
            },
        },
        "levels": {
            "type": "array",
            "minItems": 1,
            "items": {"enum": [name for name, _ in LEVEL_NAMES]},
        },
        "levels_reason": _TEXT,
        "defaults": {"type": "object"},
        "example": {"type": "object"},
        "hints": {"type": "object"},
    },
    "required": ["name", "schema", "strategy"],
    "additionalProperties": False,
}
_VALIDATOR = DocumentValidator(DEFINITION)


def check_shape(definition: Any) -> Mapping[str, Any]:
    """Return the definition. Raises InvalidTypeDefinition with all errors of its shape."""
    if errors := _VALIDATOR.errors(definition, ""):
        raise InvalidTypeDefinition(
            f"{errors[0].pointer}: {errors[0].message}".removeprefix(": "), errors=errors
        )
    assert isinstance(definition, Mapping)
    return definition
