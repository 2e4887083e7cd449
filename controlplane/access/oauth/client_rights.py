"""Nobody gets a secret for a service that may do more than they themselves."""

from __future__ import annotations

from controlplane.access.authentication import caller_for
from controlplane.access.models import Principal
from controlplane.errors import PermissionDenied
from controlplane.identity.callers import Caller
from controlplane.identity.grants import missing_rights
from controlplane.identity.roles import Action


def require_rights_of(principal: str, caller: Caller) -> None:
    """Raise PermissionDenied if the service has rights that the caller lacks."""
    row = Principal.objects.filter(name=principal).first() if principal else None
    if row is None or row.id == caller.principal_id:
        return
    missing = missing_rights(caller_for(row).grants, caller.grants)
    if missing:
        raise PermissionDenied(
            f"You cannot set up a client for {row.name}, which has permissions that you lack:"
            f" {', '.join(missing)}.",
            action=Action.ACCESS_WRITE.value,
        )
