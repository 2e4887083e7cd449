"""What callers may do for themselves, and administrators for others."""

from __future__ import annotations

from controlplane.access.callers import Caller
from controlplane.access.roles import Action
from controlplane.errors import PermissionDenied


def require_own_or(caller: Caller, action: Action, owner: str) -> None:
    """Raise PermissionDenied unless the caller is the owner, or may do this for everybody."""
    if caller.principal_id is None:
        raise PermissionDenied("An anonymous reader has no tokens and no sessions.")
    if owner != caller.name:
        caller.require(action)
