"""Role bindings that a caller may read or change: those at scopes and for teams that it administers."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Q, QuerySet

from controlplane.access.models import RoleBinding
from controlplane.database.scoped import within
from controlplane.errors import UnknownRoleBinding
from controlplane.identity.callers import Caller
from controlplane.identity.grants import Grant
from controlplane.identity.roles import Action
from controlplane.scopes import Scope


def visible_bindings(caller: Caller) -> QuerySet[RoleBinding]:
    """Return the bindings whose scope and team the caller administers, with holder, role and team."""
    rows = RoleBinding.objects.select_related("principal", "team", "custom_role", "owned_by")
    grants = [grant for grant in caller.grants if Action.ACCESS_READ in grant.actions]
    if any(grant.team is None and grant.scope == Scope() for grant in grants):
        return rows
    visible = Q(pk__in=[])
    for grant in grants:
        visible |= _covered(grant)
    return rows.filter(visible)


def get_binding_to_change(caller: Caller, binding_id: UUID) -> RoleBinding:
    """Return a binding that the caller administers. Raises UnknownRoleBinding, PermissionDenied."""
    binding = visible_bindings(caller).filter(id=binding_id).first()
    if binding is None:
        raise UnknownRoleBinding("The role binding does not exist.")
    caller.require(Action.ACCESS_WRITE, binding.scope, owner=binding.owned_by_id)
    return binding


def _covered(grant: Grant) -> Q:
    owner = Q(owned_by=grant.team.id) if grant.team else Q()
    return within([grant.scope]) & owner
