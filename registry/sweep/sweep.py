"""The sweep: agents whose lease expired become unavailable or unknown, each once and with an event.

It reads the whole table once without locks. Then it processes only ranges of blocks with expired leases, in
short transactions that skip locked rows, so that heartbeats never wait for it.
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
from registry.environments.evidence import WHOLE_FLEET, Evidence, update_hearings
from registry.environments.fleet_guard import Counts
from registry.environments.guarding import environment_id_of, judge_guards
from registry.environments.policies import guard_policy
from registry.sweep.expire import expire_batch
from registry.sweep.pace import Pace

# Blocks in a range of the table, small enough to be read again for each step.
BLOCKS = 256
# Agents in a step of some 10 ms, so that a heartbeat never waits long for its row. Fewer cost more in total.
ROWS = 200
# A long sweep records this often that the control plane is reachable.
_PRESENCE_SECONDS = 2.0
_DEADLOCK_TRIES = 5
# Agents that expired earlier than this are not part of the current incident.
_RECENT = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class SweepDecision:
    """What the sweep may do. ready: the grace after an outage has passed. due: there are agents to expire."""

    at: datetime
    policy: LivenessPolicy
    ready: bool
    due: bool


def sweep_leases() -> int:
    """Expire every silent agent; return how many. Concurrent calls are safe."""
    decision = _decide()
    if decision is None or not (decision.ready and decision.due):
        return 0
    return _expire_all(decision)


@transaction.atomic
def _decide() -> SweepDecision | None:
    """Record the sweep, count the fleet and judge the guards; return None if another sweep is running."""
    with connection.cursor() as cursor:
        # A process that hangs here must not block other sweeps.
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = '10s'")
    record = SweepRecord.objects.select_for_update(skip_locked=True).annotate(now=Now()).filter(id=1).first()
    if record is None:
        return None
    now: datetime = record.now
    since = reachable_since(record.last_sweep_at, record.reachable_since, gap=outage_gap(), now=now)
    summaries = _summarise_environments(scaled_policy(record.live_count))
    counts = {environment: summary.counts for environment, summary in summaries.items()}
    fleet_counts = sum(counts.values(), Counts())
    policy = scaled_policy(fleet_counts.live)
    fleet_id = environment_id_of(WHOLE_FLEET)
    hearings = update_hearings(
        {environment: summary.evidence for environment, summary in summaries.items()}, policy, now=now
    )
    if hearings[fleet_id].since == now:
        # No agent was heard for a while, whatever the cause: the grace starts again.
        since = now
    record.last_sweep_at, record.reachable_since, record.live_count = now, since, fleet_counts.live
    record.save(update_fields=["last_sweep_at", "reachable_since", "live_count"])
    ready = now > since + policy.grace()
    judge_guards(counts, hearings, guard_policy(), ready=ready, now=now)
    return SweepDecision(now, policy, ready, bool(fleet_counts.expired or fleet_counts.unknown))


@dataclass(frozen=True, slots=True)
class _EnvironmentSummary:
    """The agents of one environment."""

    counts: Counts = field(default_factory=Counts)
    evidence: Evidence = field(default_factory=Evidence)

    def __add__(self, other: _EnvironmentSummary) -> _EnvironmentSummary:
        return _EnvironmentSummary(self.counts + other.counts, self.evidence + other.evidence)


def _summarise_environments(policy: LivenessPolicy) -> dict[int | None, _EnvironmentSummary]:
    """Summarise the agents by environment, in one read of the table."""
    times = {"soon": policy.soon().total_seconds(), "recent": _RECENT.total_seconds()}
    summaries: dict[int | None, _EnvironmentSummary] = {}
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, times)
        for environment, state_name, heard_at, shortest_lease, *numbers in cursor.fetchall():
            state = State(state_name)
            holds_lease = state in LIVE or state is State.UNKNOWN
            summary = _EnvironmentSummary(
                _build_counts(state, *numbers), Evidence(heard_at, shortest_lease if holds_lease else None)
            )
            summaries[environment] = summaries.get(environment, _EnvironmentSummary()) + summary
    return summaries


def _build_counts(state: State, agents: int, due: int, expired: int, recently_gone: int) -> Counts:
    if state in LIVE:
        return Counts(live=agents, due=due, expired=expired)
    if state is State.UNAVAILABLE:
        return Counts(gone=recently_gone)
    return Counts(unknown=expired) if state is State.UNKNOWN else Counts()


def _expire_all(decision: SweepDecision) -> int:
    expired_count, recorded_at, pace = 0, time.monotonic(), Pace()
    for range_number in _ranges():
        step_count, block, end = ROWS, range_number * BLOCKS, (range_number + 1) * BLOCKS
        while step_count == ROWS:
            started_at = time.monotonic()
            # Blocks before the last expired agent are not read again.
            step_count, last_block = _step((block, end), decision)
            expired_count, block = expired_count + step_count, max(block, last_block)
            if time.monotonic() - recorded_at > _PRESENCE_SECONDS:
                _record_presence()
                recorded_at = time.monotonic()
            if step_count == ROWS:
                time.sleep(pace.rest_after(time.monotonic() - started_at))
    return expired_count


def _ranges() -> list[int]:
    """Return the numbers of the ranges with agents to expire."""
    with connection.cursor() as cursor:
        cursor.execute(
            _RANGES, {"blocks": BLOCKS, "states": [state.value for state in (*LIVE, State.UNKNOWN)]}
        )
        return sorted(number for (number,) in cursor.fetchall())


def _step(blocks: tuple[int, int], decision: SweepDecision) -> tuple[int, int]:
    between = (f"({blocks[0]},0)", f"({blocks[1]},0)")
    for _ in range(_DEADLOCK_TRIES):
        try:
            return expire_batch(
                between, ROWS, judged_at=decision.at, grace=decision.policy.grace(), gap=outage_gap()
            )
        except OperationalError as error:
            if not isinstance(error.__cause__, DeadlockDetected):
                raise
    return 0, 0  # left to the next sweep


def _record_presence() -> None:
    """Record that a long sweep is no outage. After a real outage record nothing: the grace must start."""
    SweepRecord.objects.filter(last_sweep_at__gte=Now() - outage_gap()).update(last_sweep_at=Now())


# The last column counts leases that expired recently.
_COUNT = """
SELECT environment_id, state, max(renewed_at),
    min(expires_at - renewed_at) FILTER (WHERE expires_at > renewed_at),
    count(*),
    count(*) FILTER (WHERE expires_at < now() + %(soon)s * interval '1 second'),
    count(*) FILTER (WHERE expires_at < now()),
    count(*) FILTER (WHERE expires_at < now() AND expires_at > now() - %(recent)s * interval '1 second')
FROM registry_lease GROUP BY environment_id, state
"""
_RANGES = """
SELECT DISTINCT (ctid::text::point)[0]::bigint / %(blocks)s FROM registry_lease
WHERE expires_at < now() AND state = ANY(%(states)s)
"""
