"""The facts that overrides announce."""

from typing import Any

from controlplane.events.types import register
from controlplane.scopes import SEGMENTS

_TEXT: dict[str, Any] = {"type": "string"}
_SCOPE: dict[str, Any] = {
    "type": "object",
    "properties": dict.fromkeys(SEGMENTS, _TEXT),
    "required": list(SEGMENTS),
    "additionalProperties": False,
}
_CHANGE: dict[str, Any] = {
    "resource_type": _TEXT,
    "scope": _SCOPE,
    "version": {"type": "integer"},
    "revision": {"type": "integer"},
}

PROJECT_CREATED = register("project.created", "A project was registered.", project=_TEXT)
DOMAIN_CREATED = register("domain.created", "A domain was registered.", domain=_TEXT)
OVERRIDE_CREATED = register("override.created", "Attributes were set where none were.", **_CHANGE)
OVERRIDE_UPDATED = register("override.updated", "The attributes at a scope were changed.", **_CHANGE)
OVERRIDE_DELETED = register("override.deleted", "The attributes at a scope were removed.", **_CHANGE)
