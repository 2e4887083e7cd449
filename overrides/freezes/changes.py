"""Declare, amend and end freezes.

All three take the lock of revisions, as every change of overrides does: a change is committed before the
freeze exists, or sees it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from controlplane.access import audit
from controlplane.database.clock import statement_now
from controlplane.errors import Conflict, UnknownOverrideFreeze
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from controlplane.preconditions import Precondition, check
from controlplane.scopes import Scope
from overrides import event_types
from overrides.freeze_models import OverrideFreeze
from overrides.freezes.decisions import FreezeState, check_amendment, check_interval, state_of
from overrides.freezes.storage import as_freeze
from overrides.loading.revisions import lock_revisions
from overrides.projects import check_known


@transaction.atomic
def declare_freeze(
    scope: Scope, *, starts_at: datetime | None, ends_at: datetime, reason: str, actor: Actor
) -> OverrideFreeze:
    """Freeze overrides at and below the scope; without a start, from now.

    Raises InvalidRequest, UnknownProject, UnknownDomain.
    """
    lock_revisions()
    check_known(scope)
    now = statement_now()
    starts_at = starts_at or now
    check_interval(starts_at, ends_at, now)
    row = OverrideFreeze(
        **scope.segments, starts_at=starts_at, ends_at=ends_at, reason=reason, created_by=actor.name
    )
    row.save(force_insert=True)
    row.refresh_from_db(fields=["created_at"])
    _record(event_types.FREEZE_DECLARED, row, actor, before=None)
    return row


@transaction.atomic
def amend_freeze(
    freeze_id: UUID, fields: dict[str, Any], *, actor: Actor, precondition: Precondition | None = None
) -> OverrideFreeze:
    """Change starts_at, ends_at or reason.

    Raises Conflict if it has ended, InvalidRequest, VersionMismatch.
    """
    row, before = _locked(freeze_id, precondition)
    times = {name: fields.get(name, getattr(row, name)) for name in ("starts_at", "ends_at")}
    check_amendment(as_freeze(row), **times, now=statement_now())
    if all(getattr(row, name) == value for name, value in fields.items()):
        return row
    for name, value in fields.items():
        setattr(row, name, value)
    return _saved(row, event_types.FREEZE_CHANGED, actor, before)


@transaction.atomic
def end_freeze(freeze_id: UUID, *, actor: Actor, precondition: Precondition | None = None) -> OverrideFreeze:
    """End the freeze now; an upcoming one never starts. Raises Conflict if it has ended."""
    row, before = _locked(freeze_id, precondition)
    now = statement_now()
    if state_of(as_freeze(row), now) is FreezeState.ENDED:
        raise Conflict("The freeze has ended already.")
    row.ended_at, row.ended_by = now, actor.name
    return _saved(row, event_types.FREEZE_ENDED, actor, before)


def snapshot(row: OverrideFreeze) -> dict[str, Any]:
    """Return the freeze as the audit log contains it."""
    return {
        "scope": row.scope.segments,
        "starts_at": row.starts_at.isoformat(),
        "ends_at": row.ends_at.isoformat(),
        "reason": row.reason,
        "ended_at": row.ended_at.isoformat() if row.ended_at else None,
    }


def _locked(freeze_id: UUID, precondition: Precondition | None) -> tuple[OverrideFreeze, dict[str, Any]]:
    lock_revisions()
    row = OverrideFreeze.objects.filter(id=freeze_id).first()
    if row is None:
        raise UnknownOverrideFreeze(f"Freeze {freeze_id} does not exist.")
    # A request names what it changes, so If-Match is optional.
    check(precondition if precondition and precondition.is_set else None, row.version)
    return row, snapshot(row)


def _saved(
    row: OverrideFreeze, event_type: EventType, actor: Actor, before: dict[str, Any]
) -> OverrideFreeze:
    row.version += 1
    row.save()
    _record(event_type, row, actor, before=before)
    return row


def _record(
    event_type: EventType, row: OverrideFreeze, actor: Actor, *, before: dict[str, Any] | None
) -> None:
    after = snapshot(row)
    data = {name: value for name, value in after.items() if name != "ended_at"}
    audit.record(
        event_type,
        "override_freeze",
        str(row.id),
        actor=actor,
        before=before,
        after=after,
        data=data,
        scope=row.scope,
    )
