"""The sweep: agents whose lease ran out become unavailable, or unknown, once each and with an event.

It looks at the whole table once, without a lock. Only ranges of blocks in which something is due are walked:
each step a short transaction that skips rows in use, so that heartbeats never wait for it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import OperationalError, connection, transaction
from django.db.models.functions import Now
from psycopg.errors import DeadlockDetected

from registry.agents.fleet_guard import Counts
from registry.agents.guards import judge_guards
from registry.agents.liveness import LivenessPolicy, reachable_since
from registry.agents.marking import mark_some
from registry.agents.policies import guard_policy, outage_gap, scaled_policy
from registry.agents.states import LIVE, State
from registry.models import SweepRecord

# A range of the table, small enough to be looked through again for each step.
BLOCKS = 256
# Agents for each step: some 10 ms, so that a heartbeat never waits long for its row. Fewer cost more in all.
ROWS = 200
# After each full step the sweep rests for as large a share of its time: heartbeats come first.
_REST = 0.25
# A walk says as often that the control plane is there.
_NOTE_SECONDS = 2.0
_DEADLOCK_TRIES = 5
# Agents that were marked so long ago are no part of what happens now.
_MOMENT = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Look:
    """What the sweep saw. ready: it may mark at all, for we have been there long enough.

    ranges: those of the table that hold agents to be marked, by number.
    """

    policy: LivenessPolicy
    ready: bool
    ranges: list[int]


def sweep_leases() -> int:
    """Mark every silent agent; return how many. Safe in any number at once."""
    look = _look()
    return _walk(look) if look is not None and look.ready else 0


@transaction.atomic
def _look() -> Look | None:
    """Note the sweep, count the fleet and judge the guards; None if another sweep is at it."""
    with connection.cursor() as cursor:
        # A process that is stopped in here must not keep the others out.
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = '10s'")
    record = SweepRecord.objects.select_for_update(skip_locked=True).annotate(now=Now()).filter(id=1).first()
    if record is None:
        return None
    now: datetime = record.now
    since = reachable_since(record.last_sweep_at, record.reachable_since, gap=outage_gap(), now=now)
    counts, ranges = _count(scaled_policy(record.live_count))
    whole = sum(counts.values(), Counts())
    policy = scaled_policy(whole.live)
    record.last_sweep_at, record.reachable_since, record.live_count = now, since, whole.live
    record.save(update_fields=["last_sweep_at", "reachable_since", "live_count"])
    ready = now > since + policy.grace()
    if ready:
        judge_guards(counts, guard_policy(), now=now)
    return Look(policy, ready, ranges)


def _count(policy: LivenessPolicy) -> tuple[dict[int | None, Counts], list[int]]:
    """Counts by guard, and the ranges that hold expired leases, in one look at the table."""
    with connection.cursor() as cursor:
        cursor.execute(
            _COUNT,
            {
                "blocks": BLOCKS,
                "live": [state.value for state in LIVE],
                "marked": [state.value for state in (*LIVE, State.UNKNOWN)],
                "soon": policy.soon().total_seconds(),
                "moment": _MOMENT.total_seconds(),
                "unavailable": State.UNAVAILABLE.value,
                "unknown": State.UNKNOWN.value,
            },
        )
        rows = cursor.fetchall()
    counts: dict[int | None, Counts] = {}
    for guard, _, *numbers in rows:
        counts[guard] = counts.get(guard, Counts()) + Counts(*numbers)
    return counts, sorted({row[1] for row in rows if row[1] is not None})


def _walk(look: Look) -> int:
    marked, noted = 0, time.monotonic()
    for number in look.ranges:
        some, place, end = ROWS, number * BLOCKS, (number + 1) * BLOCKS
        while some == ROWS:
            began = time.monotonic()
            # What lies before the last one that was marked is not looked through again.
            some, last = _step((place, end), look.policy)
            marked, place = marked + some, max(place, last)
            if time.monotonic() - noted > _NOTE_SECONDS:
                _note_presence()
                noted = time.monotonic()
            if some == ROWS:
                time.sleep(_REST * (time.monotonic() - began))
    return marked


def _step(blocks: tuple[int, int], policy: LivenessPolicy) -> tuple[int, int]:
    between = (f"({blocks[0]},0)", f"({blocks[1]},0)")
    for _ in range(_DEADLOCK_TRIES):
        try:
            return mark_some(between, ROWS, grace=policy.grace(), gap=outage_gap())
        except OperationalError as error:
            if not isinstance(error.__cause__, DeadlockDetected):
                raise
    return 0, 0  # the next sweep comes soon


def _note_presence() -> None:
    """A long walk is no outage. After a real one it says nothing: then the grace must begin."""
    SweepRecord.objects.filter(last_sweep_at__gte=Now() - outage_gap()).update(last_sweep_at=Now())


# The place of a row costs more than the rest: it is asked of those alone that are to be marked.
_COUNT = """
SELECT guard_id,
    CASE WHEN expires_at < now() AND state = ANY(%(marked)s)
        THEN (ctid::text::point)[0]::bigint / %(blocks)s END AS range,
    count(*) FILTER (WHERE state = ANY(%(live)s)),
    count(*) FILTER (WHERE state = ANY(%(live)s) AND expires_at < now() + %(soon)s * interval '1 second'),
    count(*) FILTER (WHERE state = ANY(%(live)s) AND expires_at < now()),
    count(*) FILTER (WHERE state = %(unavailable)s AND expires_at < now()
        AND expires_at > now() - %(moment)s * interval '1 second'),
    count(*) FILTER (WHERE state = %(unknown)s AND expires_at < now())
FROM registry_lease GROUP BY guard_id, range
"""
