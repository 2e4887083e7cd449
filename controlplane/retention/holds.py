"""Legal holds: partitions with rows in their scope are not dropped."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet

from controlplane.access import audit
from controlplane.errors import Conflict
from controlplane.identity.actors import Actor
from controlplane.retention.event_types import HOLD_PLACED, HOLD_RELEASED
from controlplane.retention.models import LegalHold
from controlplane.scopes import Scope


def active_holds(now: datetime) -> QuerySet[LegalHold]:
    return LegalHold.objects.filter(Q(until=None) | Q(until__gt=now), released_at=None).order_by("id")


@transaction.atomic
def place_hold(scope: Scope, *, until: datetime | None, reason: str, actor: Actor) -> LegalHold:
    """Keep all rows at or below the scope until then; None: until the hold is released."""
    hold = LegalHold.objects.create(until=until, reason=reason, placed_by=actor.name, **scope.segments)
    audit.record(
        HOLD_PLACED,
        "legal_hold",
        str(hold.pk),
        actor=actor,
        before=None,
        after={"scope": scope.segments, "until": until.isoformat() if until else None, "reason": reason},
        data={"hold": str(hold.pk), "reason": reason},
        scope=scope,
    )
    return hold


@transaction.atomic
def release_hold(hold_id: int, *, now: datetime, actor: Actor) -> None:
    """Raises Conflict if there is no such hold, or it was released before."""
    hold = LegalHold.objects.select_for_update().filter(id=hold_id, released_at=None).first()
    if hold is None:
        raise Conflict(f"There is no active legal hold {hold_id}.")
    hold.released_at = now
    hold.save(update_fields=["released_at"])
    audit.record(
        HOLD_RELEASED,
        "legal_hold",
        str(hold_id),
        actor=actor,
        before={"released_at": None},
        after={"released_at": now.isoformat()},
        data={"hold": str(hold_id)},
        scope=Scope(hold.domain, hold.project, hold.workflow, hold.launch_plan),
    )
