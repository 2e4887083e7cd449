"""Emergency access: the role admin for a limited time, opened on a host with access to the database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from controlplane.access import issue_tokens, login_event_types, principals, role_bindings
from controlplane.access.emergency_models import EmergencyAccess
from controlplane.access.models import Principal, RoleBinding
from controlplane.access.occurrences import record_occurrence
from controlplane.access.role_bindings import BindingTerms
from controlplane.database.clock import database_now
from controlplane.errors import Conflict, FieldError, InvalidRequest, PermissionDenied
from controlplane.identity.actors import Actor
from controlplane.identity.roles import Role
from controlplane.scopes import Scope

LONGEST = timedelta(hours=8)


@dataclass(frozen=True, slots=True)
class OpenedAccess:
    """The result of opening. secret: of a token that expires with the access; returned only here."""

    access: EmergencyAccess
    secret: str


def open_accesses() -> QuerySet[EmergencyAccess]:
    """Return the emergency accesses that are open now, the one that ends last first."""
    rows = EmergencyAccess.objects.filter(closed_at=None, ends_at__gt=Now(), principal__is_active=True)
    return rows.select_related("principal").order_by("-ends_at")


@transaction.atomic
def open_access(principal: Principal, duration: timedelta, *, actor: Actor) -> OpenedAccess:
    """Give a principal the role admin, and a token, until the duration is over.

    actor: with the reason. Raises PermissionDenied if BREAK_GLASS is off, InvalidRequest, Conflict.
    """
    _check(principal, duration, actor.reason)
    ends_at = database_now() + duration
    binding = _bind(principal, ends_at, actor)
    token, secret = principals.create_token(
        principal, name="emergency access", expires_at=ends_at, actor=actor
    )
    access = EmergencyAccess.objects.create(
        principal=principal, token=token, binding=binding, reason=actor.reason, ends_at=ends_at
    )
    access.refresh_from_db()
    record_occurrence(
        login_event_types.BREAK_GLASS_OPENED,
        principal.name,
        actor=actor,
        data={"principal": principal.name, "reason": actor.reason, "ends_at": ends_at.isoformat()},
    )
    return OpenedAccess(access, secret)


@transaction.atomic
def close_access(principal: Principal, *, actor: Actor) -> None:
    """End the emergency access of a principal with its role and tokens. Raises Conflict if none is open."""
    rows = open_accesses().filter(principal=principal).select_for_update(of=("self",))
    access = rows.first()
    if access is None:
        raise Conflict(f"{principal.name} has no open emergency access.")
    issue_tokens.revoke_token(access.token_id, of=None, actor=actor)
    # Not `unbind_role`: it may refuse to remove the last administrator, and this role ends in any case.
    if access.binding_id:
        RoleBinding.objects.filter(id=access.binding_id).delete()
    EmergencyAccess.objects.filter(id=access.id).update(closed_at=Now())
    record_occurrence(
        login_event_types.BREAK_GLASS_CLOSED,
        principal.name,
        actor=actor,
        data={"principal": principal.name, "opened_at": access.opened_at.isoformat()},
    )


def _check(principal: Principal, duration: timedelta, reason: str) -> None:
    if not settings.BREAK_GLASS:
        raise PermissionDenied("Emergency access is turned off by the setting BREAK_GLASS.")
    if not timedelta() < duration <= LONGEST:
        raise _invalid("/minutes", f"Choose between 1 and {int(LONGEST.total_seconds() // 60)} minutes.")
    if not reason.strip():
        raise _invalid("/reason", "State the reason: it is recorded in the audit log.")
    if not principal.is_active:
        raise Conflict(f"{principal.name} is disabled. Choose an active principal.")
    # Serializes two commands for the same principal.
    Principal.objects.select_for_update(no_key=True).get(pk=principal.pk)
    if open_accesses().filter(principal=principal).exists():
        raise Conflict(f"{principal.name} already has open emergency access. Close it first.")


def _invalid(pointer: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError(pointer, "invalid", message)])


def _bind(principal: Principal, ends_at: datetime, actor: Actor) -> RoleBinding | None:
    """Bind the role admin until the end; None if the principal is an administrator at least as long."""
    existing = RoleBinding.objects.filter(
        principal=principal, role=Role.ADMIN.value, custom_role=None, owned_by=None, **Scope().segments
    )
    if existing.filter(Q(expires_at=None) | Q(expires_at__gte=ends_at)).exists():
        return None
    # Only a shorter one is left, which the new one replaces.
    existing.delete()
    terms = BindingTerms(expires_at=ends_at)
    return role_bindings.bind_role(principal, Role.ADMIN, Scope(), actor=actor, terms=terms)
