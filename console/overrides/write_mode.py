"""State of the overrides source, as far as a caller can read it."""

from __future__ import annotations

from typing import Any

from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from overrides.file_source.synchronise import source_state


def readable_source(caller: Caller) -> dict[str, Any]:
    """Return the state. Files and errors can name any scope, so only readers of all scopes see them."""
    state = source_state()
    if caller.verdict(Action.OVERRIDE_READ).allowed:
        return state
    return {**state, "files": [], "errors": [], "pending": None, "state": ""}
