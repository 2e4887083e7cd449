"""Where overrides come from, as far as a caller may know it."""

from __future__ import annotations

from typing import Any

from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from overrides.file_source.synchronise import source_state


def shown_source(caller: Caller) -> dict[str, Any]:
    """The state of the source. Files and errors may name any scope, so only readers of all see them."""
    state = source_state()
    if caller.verdict(Action.OVERRIDE_READ).allowed:
        return state
    return {**state, "files": [], "errors": [], "pending": None, "state": ""}
