"""Pins: names that stay with a team, whatever other teams publish, until they expire or are unpinned."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction

from controlplane.access import audit
from controlplane.database.clock import database_now
from controlplane.database.locks import lock_publishing
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from registry.agent_configs.claims.grants import Pin, check_pin
from registry.agent_configs.documents.published import ClaimKind
from registry.agent_configs.event_types import CLAIM_PINNED, CLAIM_UNPINNED
from registry.agent_configs.owners import owner_of
from registry.agent_configs.pin_models import AgentConfigPin
from registry.agent_configs.publishing.ownership_transfer import load_claims
from registry.agent_configs.publishing.recompute import recompute_all


@transaction.atomic
def pin_claim(pin: Pin, until: datetime | None, *, actor: Actor) -> AgentConfigPin:
    """Pin a name to a team, in place of an earlier pin. Raises InvalidRequest if the team has no claim."""
    lock_publishing()
    check_pin(pin, load_claims(), until, now=database_now())
    former = AgentConfigPin.objects.filter(kind=pin.kind.value, name=pin.name).first()
    if former is not None:
        former.delete()
    row = AgentConfigPin.objects.create(
        team=pin.team,
        kind=pin.kind.value,
        name=pin.name,
        reason=actor.reason[:500],
        until=until,
        created_by=actor.name,
    )
    row.refresh_from_db()
    _record(CLAIM_PINNED, row, actor, before=_entry(former) if former else None, after=_entry(row))
    recompute_all(actor)
    return row


@transaction.atomic
def unpin_claim(kind: ClaimKind, name: str, *, actor: Actor) -> None:
    """End the pin of a name. Without a pin, nothing changes."""
    lock_publishing()
    row = AgentConfigPin.objects.in_effect().filter(kind=kind.value, name=name).first()
    if row is None:
        return
    _record(CLAIM_UNPINNED, row, actor, before=_entry(row), after=None)
    row.delete()
    recompute_all(actor)


def _entry(row: AgentConfigPin) -> dict[str, Any]:
    until = row.until.isoformat() if row.until else ""
    return {"team": row.team, "kind": row.kind, "name": row.name, "until": until}


def _record(
    event_type: EventType,
    row: AgentConfigPin,
    actor: Actor,
    *,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
) -> None:
    data = _entry(row)
    if event_type is CLAIM_UNPINNED:
        del data["until"]
    audit.record(
        event_type,
        "agent_config_claim",
        f"{row.kind}/{row.name}",
        actor=actor,
        before=before,
        after=after,
        data=data,
        team_id=owner_of(row.team),
    )
