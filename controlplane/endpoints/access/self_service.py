"""What callers may do for themselves, and administrators for others."""

from __future__ import annotations

from controlplane.errors import PermissionDenied
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action


def require_own_or(caller: Caller, action: Action, owner: str) -> None:
    """Raise PermissionDenied unless the caller is the owner, or may do this for everybody."""
    if caller.principal_id is None:
        raise PermissionDenied("An anonymous reader has no tokens and no sessions.")
    if owner != caller.name:
        caller.require(action)
