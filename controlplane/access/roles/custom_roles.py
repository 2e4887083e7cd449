"""Changes of the operators' own roles. A role never gives more than its author has."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from controlplane.access import audit, event_types
from controlplane.access.models import CustomRole
from controlplane.errors import (
    BuiltInRole,
    FieldError,
    InvalidRequest,
    LimitReached,
    NameTaken,
    PermissionDenied,
    StillInUse,
    UnknownRole,
)
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action, Role
from controlplane.preconditions import Precondition, check

MAX_ROLES = 100
_NAME = re.compile(r"[a-z0-9](?:-?[a-z0-9]){0,62}")


def check_may_define(caller: Caller, actions: Collection[Action]) -> None:
    """Raise PermissionDenied unless the caller may do everything that the role would allow, everywhere."""
    missing = sorted(action for action in actions if not caller.verdict(action).allowed)
    if missing:
        raise PermissionDenied(
            f"A role must not allow what you may not do yourself: {', '.join(missing)}.",
            action=Action.ACCESS_WRITE.value,
        )


def get_custom_role(name: str) -> CustomRole:
    """Return the role of the operators' own. Raises UnknownRole, BuiltInRole."""
    if name in set(Role):
        raise BuiltInRole(f"The role {name} is built in and cannot be changed. Create a role of your own.")
    row = CustomRole.objects.filter(name=name).first()
    if row is None:
        raise UnknownRole(f"The role {name[:80]!r} does not exist. GET /api/v1/roles lists all roles.")
    return row


@transaction.atomic
def create_role(name: str, *, title: str, actions: Collection[Action], actor: Actor) -> CustomRole:
    """Create a role. Raises InvalidRequest, NameTaken, LimitReached."""
    _check_name(name)
    if name in set(Role) or CustomRole.objects.filter(name=name).exists():
        raise NameTaken(f"The role {name!r} already exists. Choose another name.")
    if CustomRole.objects.count() >= MAX_ROLES:
        raise LimitReached(f"There are {MAX_ROLES} custom roles, the maximum. Delete one first.")
    role = CustomRole(name=name, title=title, actions=_sorted(actions))
    try:
        with transaction.atomic():
            role.save(force_insert=True)
    except IntegrityError as error:
        raise NameTaken(f"The role {name!r} already exists. Choose another name.") from error
    role.refresh_from_db()
    _record(event_types.ROLE_CREATED, role, actor, before=None, after=_state(role))
    return role


@transaction.atomic
def replace_role(
    role: CustomRole,
    *,
    title: str,
    actions: Collection[Action],
    actor: Actor,
    precondition: Precondition | None = None,
) -> CustomRole:
    """Replace the actions of a role; all its bindings follow at once. Raises UnknownRole."""
    role = _locked(role)
    check(precondition, role.version)
    before = _state(role)
    if before == {"name": role.name, "title": title, "actions": _sorted(actions)}:
        return role
    role.title, role.actions, role.version = title, _sorted(actions), role.version + 1
    role.save(update_fields=["title", "actions", "version"])
    _record(event_types.ROLE_CHANGED, role, actor, before=before, after=_state(role))
    return role


@transaction.atomic
def delete_role(role: CustomRole, *, actor: Actor, precondition: Precondition | None = None) -> None:
    """Delete a role that nobody has. Raises UnknownRole, StillInUse."""
    role = _locked(role)
    check(precondition, role.version)
    try:
        CustomRole.objects.filter(id=role.id).delete()
    except ProtectedError as error:
        count = len(error.protected_objects)
        raise StillInUse(
            f"The role {role.name} has {count} role bindings. Delete them first.", bindings=count
        ) from error
    _record(event_types.ROLE_DELETED, role, actor, before=_state(role), after=None)


def _locked(role: CustomRole) -> CustomRole:
    row = CustomRole.objects.select_for_update().filter(id=role.id).first()
    if row is None:
        raise UnknownRole(f"The role {role.name!r} does not exist.")
    return row


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or len(name) > 63:
        message = "A role's name must have lowercase letters, digits and single inner hyphens, at most 63."
        raise InvalidRequest(message, errors=[FieldError("/name", "malformed", message)])


def _sorted(actions: Collection[Action]) -> list[str]:
    return sorted({action.value for action in actions})


def _state(role: CustomRole) -> dict[str, Any]:
    return {"name": role.name, "title": role.title, "actions": role.actions}


def _record(
    event_type: EventType,
    role: CustomRole,
    actor: Actor,
    *,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
) -> None:
    data = {"role": role.name}
    audit.record(event_type, "role", role.name, actor=actor, before=before, after=after, data=data)
