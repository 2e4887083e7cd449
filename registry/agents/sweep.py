"""The sweep: agents whose lease ran out become unavailable, once each, with an event."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models.functions import Now

from controlplane.access.actors import system
from registry.agents.liveness import LivenessPolicy, has_expired, reachable_since
from registry.agents.policies import liveness_policy, outage_gap
from registry.agents.states import LIVE, State
from registry.agents.transitions import move
from registry.models import Lease, SweepRecord

# Agents per transaction: short enough that a heartbeat never waits long for its row.
CHUNK = 500
_ACTOR = system("sweep").name


def sweep_leases() -> int:
    """Mark every silent agent; return how many. Safe in any number at once: rows in use are skipped."""
    policy = liveness_policy()
    since = _note_sweep()
    total = 0
    while marked := _sweep_some(policy, since):
        total += marked
    return total


@transaction.atomic
def _note_sweep() -> datetime:
    record = SweepRecord.objects.select_for_update().annotate(now=Now()).get(id=1)
    record.reachable_since = reachable_since(
        record.last_sweep_at, record.reachable_since, gap=outage_gap(), now=record.now
    )
    record.last_sweep_at = record.now
    record.save(update_fields=["last_sweep_at", "reachable_since"])
    return record.reachable_since


@transaction.atomic
def _sweep_some(policy: LivenessPolicy, since: datetime) -> int:
    leases = (
        # A row that is locked is being renewed right now.
        Lease.objects.select_for_update(skip_locked=True, of=("self",))
        .filter(expires_at__lt=Now(), agent__state__in=LIVE)
        .select_related("agent")
        .annotate(now=Now())
        .order_by("agent_id")[:CHUNK]
    )
    return sum(
        move(lease.agent, State.UNAVAILABLE, reason=_reason(lease), actor=_ACTOR)
        for lease in leases
        if has_expired(lease.expires_at, reachable_since=since, policy=policy, now=lease.now)
    )


def _reason(lease: Lease) -> str:
    return f"No heartbeat since {lease.renewed_at:%Y-%m-%d %H:%M:%S} UTC; the lease ran out."
