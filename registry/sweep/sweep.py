"""The sweep: agents whose lease ran out become unavailable, or unknown, once each and with an event.

It looks at the whole table once, without a lock. Only ranges of blocks in which something is due are walked:
each step a short transaction that skips rows in use, so that heartbeats never wait for it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import OperationalError, connection, transaction
from django.db.models.functions import Now
from psycopg.errors import DeadlockDetected

from registry.agents.liveness import LivenessPolicy, reachable_since
from registry.agents.models import SweepRecord
from registry.agents.policies import outage_gap, scaled_policy
from registry.agents.states import LIVE, State
from registry.environments.evidence import WHOLE_FLEET, Sighting, note_hearing
from registry.environments.fleet_guard import Counts
from registry.environments.guarding import environment_id_of, judge_guards
from registry.environments.policies import guard_policy
from registry.sweep.expire import expire_batch

# A range of the table, small enough to be looked through again for each step.
BLOCKS = 256
# Agents for each step: some 10 ms, so that a heartbeat never waits long for its row. Fewer cost more in all.
ROWS = 200
# After each full step the sweep rests for as large a share of its time: heartbeats come first.
_REST = 0.1
# A walk says as often that the control plane is there.
_NOTE_SECONDS = 2.0
_DEADLOCK_TRIES = 5
# Agents that were marked so long ago are no part of what happens now.
_MOMENT = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Look:
    """What the sweep saw, and when. ready: it may mark at all, for we have been there long enough."""

    at: datetime
    policy: LivenessPolicy
    ready: bool
    due: bool


def sweep_leases() -> int:
    """Mark every silent agent; return how many. Safe in any number at once."""
    look = _look()
    if look is None or not (look.ready and look.due):
        return 0
    return _walk(look)


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
    seen = _count(scaled_policy(record.live_count))
    counts = {environment: one.counts for environment, one in seen.items()}
    whole = sum(counts.values(), Counts())
    policy = scaled_policy(whole.live)
    fleet = environment_id_of(WHOLE_FLEET)
    hearings = note_hearing({environment: one.sighting for environment, one in seen.items()}, policy, now=now)
    if hearings[fleet].since == now:
        # Nobody could be heard for a while, whatever broke: grace begins anew.
        since = now
    record.last_sweep_at, record.reachable_since, record.live_count = now, since, whole.live
    record.save(update_fields=["last_sweep_at", "reachable_since", "live_count"])
    ready = now > since + policy.grace()
    judge_guards(counts, hearings, guard_policy(), ready=ready, now=now)
    return Look(now, policy, ready, bool(whole.expired or whole.unknown))


@dataclass(frozen=True, slots=True)
class _Seen:
    """Of the agents of one environment."""

    counts: Counts = field(default_factory=Counts)
    sighting: Sighting = field(default_factory=Sighting)

    def __add__(self, other: _Seen) -> _Seen:
        return _Seen(self.counts + other.counts, self.sighting + other.sighting)


def _count(policy: LivenessPolicy) -> dict[int | None, _Seen]:
    """What is seen by environment, in one look at the table."""
    times = {"soon": policy.soon().total_seconds(), "moment": _MOMENT.total_seconds()}
    seen: dict[int | None, _Seen] = {}
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, times)
        for environment, word, heard_at, shortest, *numbers in cursor.fetchall():
            state = State(word)
            holds_lease = state in LIVE or state is State.UNKNOWN
            found = _Seen(_counts_of(state, *numbers), Sighting(heard_at, shortest if holds_lease else None))
            seen[environment] = seen.get(environment, _Seen()) + found
    return seen


def _counts_of(state: State, agents: int, due: int, expired: int, lately: int) -> Counts:
    if state in LIVE:
        return Counts(live=agents, due=due, expired=expired)
    if state is State.UNAVAILABLE:
        return Counts(gone=lately)
    return Counts(unknown=expired) if state is State.UNKNOWN else Counts()


def _walk(look: Look) -> int:
    marked, noted = 0, time.monotonic()
    for number in _ranges():
        some, place, end = ROWS, number * BLOCKS, (number + 1) * BLOCKS
        while some == ROWS:
            began = time.monotonic()
            # What lies before the last one that was marked is not looked through again.
            some, last = _step((place, end), look)
            marked, place = marked + some, max(place, last)
            if time.monotonic() - noted > _NOTE_SECONDS:
                _note_presence()
                noted = time.monotonic()
            if some == ROWS:
                time.sleep(_REST * (time.monotonic() - began))
    return marked


def _ranges() -> list[int]:
    """The ranges in which somebody is to be marked, by number."""
    with connection.cursor() as cursor:
        cursor.execute(
            _RANGES, {"blocks": BLOCKS, "states": [state.value for state in (*LIVE, State.UNKNOWN)]}
        )
        return sorted(number for (number,) in cursor.fetchall())


def _step(blocks: tuple[int, int], look: Look) -> tuple[int, int]:
    between = (f"({blocks[0]},0)", f"({blocks[1]},0)")
    for _ in range(_DEADLOCK_TRIES):
        try:
            return expire_batch(between, ROWS, seen=look.at, grace=look.policy.grace(), gap=outage_gap())
        except OperationalError as error:
            if not isinstance(error.__cause__, DeadlockDetected):
                raise
    return 0, 0  # the next sweep comes soon


def _note_presence() -> None:
    """A long walk is no outage. After a real one it says nothing: then the grace must begin."""
    SweepRecord.objects.filter(last_sweep_at__gte=Now() - outage_gap()).update(last_sweep_at=Now())


# The last: who was silent already but not for long.
_COUNT = """
SELECT environment_id, state, max(renewed_at),
    min(expires_at - renewed_at) FILTER (WHERE expires_at > renewed_at),
    count(*),
    count(*) FILTER (WHERE expires_at < now() + %(soon)s * interval '1 second'),
    count(*) FILTER (WHERE expires_at < now()),
    count(*) FILTER (WHERE expires_at < now() AND expires_at > now() - %(moment)s * interval '1 second')
FROM registry_lease GROUP BY environment_id, state
"""
_RANGES = """
SELECT DISTINCT (ctid::text::point)[0]::bigint / %(blocks)s FROM registry_lease
WHERE expires_at < now() AND state = ANY(%(states)s)
"""
