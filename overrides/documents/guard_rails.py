"""Guard rails as JSON, for the API, bundles and the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controlplane.errors import InvalidRequest
from controlplane.scopes import LEVEL_NAMES, SEGMENTS, Scope
from overrides.editing.guard_rails import GuardRailSpec
from overrides.models import GuardRailRow
from overrides.resource_types.validator import DocumentValidator

_LEVELS = [name for name, _ in LEVEL_NAMES]
_AMOUNT = {"type": ["number", "string"], "maxLength": 64}
RULE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "lock_below": {"enum": _LEVELS},
        "minimum": _AMOUNT,
        "maximum": _AMOUNT,
        "allowed": {"type": "array", "minItems": 1, "maxItems": 200},
    },
    "additionalProperties": False,
}
RAIL: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {
            "type": "string",
            "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$",
            "x-hint": "Use at most 63 lower-case letters, digits and inner hyphens.",
        },
        "scope": {
            "type": "object",
            "properties": {"level": {"enum": _LEVELS}, **{name: {"type": "string"} for name in SEGMENTS}},
            "additionalProperties": False,
        },
        "resource_type": {"type": "string"},
        "pointer": {"type": "string", "maxLength": 1000},
        "rule": RULE,
        "reason": {"type": "string", "maxLength": 500},
    },
    "required": ["name", "resource_type", "pointer", "rule"],
    "additionalProperties": False,
}
_VALIDATOR = DocumentValidator(RAIL)


def rail_from(body: Any) -> GuardRailSpec:
    """Read a rail. Raises InvalidRequest with all errors of its shape, InvalidScope."""
    if errors := _VALIDATOR.errors(body, ""):
        raise InvalidRequest(f"{errors[0].pointer}: {errors[0].message}".removeprefix(": "), errors=errors)
    segments = {name: value for name, value in body.get("scope", {}).items() if name != "level"}
    return GuardRailSpec(
        name=body["name"],
        scope=Scope(**segments),
        resource_type=body["resource_type"],
        pointer=body["pointer"],
        rule=body["rule"],
        reason=body.get("reason", ""),
    )


def rail_document(row: GuardRailRow) -> Mapping[str, Any]:
    """Return the rail as `rail_from` reads it."""
    return {
        "name": row.name,
        "scope": {name: value for name, value in row.scope.segments.items() if value},
        "resource_type": row.resource_type,
        "pointer": row.pointer,
        "rule": row.rule,
        "reason": row.reason,
    }
