"""Freezes in the database, judged by its clock."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from controlplane.database.clock import statement_now
from controlplane.database.scoped import overlapping
from controlplane.errors import UnknownOverrideFreeze
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.freeze_models import OverrideFreeze
from overrides.freezes.decisions import Freeze, FreezeState, freezes_over


def as_freeze(row: OverrideFreeze) -> Freeze:
    return Freeze(
        row.id, row.scope, row.starts_at, row.ends_at, row.reason, row.created_by, ended_at=row.ended_at
    )


def active_freezes(scopes: Iterable[Scope], *, at: datetime | None = None) -> tuple[Freeze, ...]:
    """Return the freezes that hold changes at these scopes at the time, or now.

    The clock is read after the lock of revisions: a writer who waited sees what was declared meanwhile.
    """
    changed = set(scopes)
    if not changed:
        return ()
    now = at or statement_now()
    rows = in_state(FreezeState.ACTIVE, now)
    return freezes_over([as_freeze(row) for row in rows], changed, now)


def in_state(state: FreezeState, now: datetime) -> QuerySet[OverrideFreeze]:
    """Return the freezes in this state: `state_of` in SQL."""
    if state is FreezeState.ENDED:
        return OverrideFreeze.objects.filter(ended(now))
    rows, started = OverrideFreeze.objects.exclude(ended(now)), Q(starts_at__lte=now)
    return rows.filter(started if state is FreezeState.ACTIVE else ~started)


def ended(now: datetime) -> Q:
    """Match freezes that hold nothing any more."""
    return Q(ended_at__isnull=False) | Q(ends_at__lte=now)


def visible(caller: Caller) -> Q:
    """Match freezes that hold changes somewhere where the caller can read overrides."""
    return overlapping(caller.scopes_for(Action.OVERRIDE_READ))


def find_freeze(freeze_id: UUID, caller: Caller) -> OverrideFreeze:
    """Raises UnknownOverrideFreeze, also if the caller cannot read it."""
    row = OverrideFreeze.objects.filter(visible(caller), id=freeze_id).first()
    if row is None:
        raise UnknownOverrideFreeze(f"Freeze {freeze_id} does not exist.")
    return row
