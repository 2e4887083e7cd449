"""Changes of role bindings: who holds which role, where, and for which team's objects."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from controlplane.access import audit, event_types
from controlplane.access.models import CustomRole, Principal, RoleBinding
from controlplane.access.team_models import Team, Via
from controlplane.errors import (
    LastAdministrator,
    NameTaken,
    PermissionDenied,
    UnknownRole,
    UnknownRoleBinding,
)
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.grants import Grant, missing_rights
from controlplane.identity.roles import Action, Role
from controlplane.scopes import Scope


@dataclass(frozen=True, slots=True)
class BindingTerms:
    """The limits of a role binding. owned_by: the team on whose objects alone the role has effect."""

    owned_by: Team | None = None
    via: str = Via.MANUAL
    expires_at: datetime | None = None


ANYTHING = BindingTerms()
_KEY = ("principal", "team", "role", "owned_by", "via")


@transaction.atomic
def bind_role(
    holder: Principal | Team,
    role: Role | CustomRole,
    scope: Scope,
    *,
    actor: Actor,
    terms: BindingTerms = ANYTHING,
) -> RoleBinding:
    """Grant a role at a scope and below it. Raises NameTaken if the holder already has it there."""
    binding = _new_binding(holder, role, scope, terms)
    _delete_expired(binding)
    try:
        with transaction.atomic():
            binding.save(force_insert=True)
    except IntegrityError as error:
        raise NameTaken(f"{binding.holder} already has the role {binding.grant}.") from error
    binding.refresh_from_db()
    _record(event_types.ROLE_BOUND, binding, actor=actor, before=None, after=binding_state(binding))
    return binding


def _new_binding(
    holder: Principal | Team, role: Role | CustomRole, scope: Scope, terms: BindingTerms
) -> RoleBinding:
    return RoleBinding(
        principal=holder if isinstance(holder, Principal) else None,
        team=holder if isinstance(holder, Team) else None,
        role=role.name if isinstance(role, CustomRole) else role.value,
        custom_role=role if isinstance(role, CustomRole) else None,
        owned_by=terms.owned_by,
        via=terms.via,
        expires_at=terms.expires_at,
        **scope.segments,
    )


def _delete_expired(binding: RoleBinding) -> None:
    """Delete an equal binding that has expired: it has no effect, and must not prevent a new one."""
    key = {name: getattr(binding, name) for name in _KEY}
    RoleBinding.objects.filter(**key, **binding.scope.segments, expires_at__lte=Now()).delete()


@transaction.atomic
def unbind_role(binding_id: UUID, *, actor: Actor) -> None:
    """Remove a role binding. Raises UnknownRoleBinding, LastAdministrator."""
    lock_administrators()
    binding = get_binding(binding_id, lock=True)
    RoleBinding.objects.filter(id=binding_id).delete()
    check_administrator_remains()
    _record(event_types.ROLE_UNBOUND, binding, actor=actor, before=binding_state(binding), after=None)


def get_binding(binding_id: UUID, *, lock: bool = False) -> RoleBinding:
    """Return the binding with its holder, role and team. Raises UnknownRoleBinding."""
    rows = RoleBinding.objects.select_related("principal", "team", "custom_role", "owned_by")
    rows = rows.select_for_update(of=("self",)) if lock else rows
    binding = rows.filter(id=binding_id).first()
    if binding is None:
        raise UnknownRoleBinding("The role binding does not exist.")
    return binding


def bindings_in_force() -> QuerySet[RoleBinding]:
    """Return the bindings that have not expired, with role and team."""
    unexpired = Q(expires_at=None) | Q(expires_at__gt=Now())
    return RoleBinding.objects.filter(unexpired).select_related("owned_by", "custom_role")


def find_role(name: str) -> Role | CustomRole:
    """Return the built-in or custom role with this name. Raises UnknownRole."""
    if name in set(Role):
        return Role(name)
    custom = CustomRole.objects.filter(name=name).first()
    if custom is None:
        raise UnknownRole(f"The role {name[:80]!r} does not exist. GET /api/v1/roles lists all roles.")
    return custom


def is_role(name: str) -> bool:
    """True if there is a built-in or custom role with this name."""
    return name in set(Role) or CustomRole.objects.filter(name=name).exists()


def check_may_grant(caller: Caller, grant: Grant) -> None:
    """Raise PermissionDenied unless the caller administers the grant's scope and team, and has its rights."""
    owner = grant.team.id if grant.team else None
    caller.require(Action.ACCESS_WRITE, grant.scope, owner=owner)
    missing = missing_rights([grant], caller.grants)
    if missing:
        raise PermissionDenied(
            f"You cannot grant the role {grant}: it has permissions that you lack: {', '.join(missing)}.",
            action=Action.ACCESS_WRITE.value,
        )


def lock_administrators() -> None:
    """Let changes that could remove the last administrator wait for each other.

    Every change of roles, memberships and principals updates the access epoch by triggers. Its row is locked
    before the rows to change, so that all changes lock in the same order.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM access_epoch WHERE id = 1 FOR NO KEY UPDATE")


def check_administrator_remains() -> None:
    """Raise LastAdministrator if none is left."""
    lock_administrators()
    administrators = RoleBinding.objects.filter(
        role=Role.ADMIN.value, custom_role=None, owned_by=None, expires_at=None, **Scope().segments
    )
    active = Q(principal__is_active=True) | Q(team__memberships__principal__is_active=True)
    if not administrators.filter(active).exists():
        raise LastAdministrator(
            "This would remove the last administrator. Give the role admin at the global scope to"
            " another principal first."
        )


def _record(
    event_type: EventType,
    binding: RoleBinding,
    *,
    actor: Actor,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
) -> None:
    data = {"principal": binding.holder, "role": binding.role, "scope": str(binding.scope)}
    audit.record(
        event_type,
        "role_binding",
        str(binding.id),
        actor=actor,
        before=before,
        after=after,
        data=data,
        scope=binding.scope,
        team_id=binding.owned_by_id,
    )


def binding_state(binding: RoleBinding) -> dict[str, Any]:
    """Return the binding as audit records hold it."""
    return {
        "principal": binding.principal.name if binding.principal else None,
        "team": binding.team.slug if binding.team else None,
        "role": binding.role,
        "scope": binding.scope.segments,
        "owned_by": binding.owned_by.slug if binding.owned_by else None,
        "via": binding.via,
        "expires_at": binding.expires_at.isoformat() if binding.expires_at else None,
    }
