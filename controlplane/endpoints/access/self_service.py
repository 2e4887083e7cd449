"""Operations that callers may perform for themselves, and administrators for others."""

from __future__ import annotations

from controlplane.errors import PermissionDenied
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action


def require_own_or(caller: Caller, action: Action, owner: str) -> None:
    """Raise PermissionDenied unless the caller is the owner or has the permission for all owners."""
    if caller.principal_id is None:
        raise PermissionDenied("Anonymous readers have no tokens or sessions. Log in, or send a token.")
    if owner != caller.name:
        caller.require(action)
