"""Where overrides come from, as far as a caller can read it, and what the caller may set."""

from __future__ import annotations

from typing import Any

from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.file_source.synchronise import source_state
from overrides.resource_types import ResourceType
from overrides.write_mode import reads_files


def readable_source(caller: Caller) -> dict[str, Any]:
    """Return the state. Files and errors can name any scope, so only readers of all scopes see them."""
    state = source_state()
    if caller.verdict(Action.OVERRIDE_READ).allowed:
        return state
    return {**state, "files": [], "errors": [], "pending": None, "state": ""}


def may_set(caller: Caller, scope: Scope, resource_type: ResourceType) -> bool:
    """Return whether the caller can override the type at the scope here."""
    if reads_files() or scope.level in resource_type.not_at:
        return False
    return caller.verdict(Action.OVERRIDE_WRITE, scope).allowed
