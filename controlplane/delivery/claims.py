"""Claims: relays lease the heads of lanes, in turns between sinks. Any number of relays may claim.

A lease ends by itself. Its epoch tells a result that comes after that from one that counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import connection, transaction

# Longer than an attempt may take in all.
LEASE_SECONDS = 90
# Sinks for one round of claims.
_SINKS = 64
# A sink with so many failures in a row has one delivery in flight, to see whether it answers again.
SUSPECT_FAILURES = 3


class Claim(NamedTuple):
    """A delivery to send now. attempt: its number, from 1."""

    lane_id: int
    lease_epoch: int
    sink_id: UUID
    sink_kind: str
    delivery_id: UUID
    event_id: UUID
    seq: int
    key: str
    replay: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Budget:
    """How many more deliveries this relay can have in flight: in all, and of suspect sinks."""

    total: int
    suspect: int


@dataclass(frozen=True, slots=True)
class Turn:
    """A sink whose turn it is, with its bucket of tokens."""

    sink_id: UUID
    tokens: float
    in_flight: int
    max_in_flight: int
    is_suspect: bool
    refilled_at: datetime

    def limit(self, total: int, suspect: int) -> int:
        """Return how many of its deliveries may be claimed now."""
        most = 1 if self.is_suspect else self.max_in_flight
        room = min(total, suspect) if self.is_suspect else total
        return max(0, min(most - self.in_flight, int(self.tokens), room))


def claim(budget: Budget, *, kinds: Iterable[str]) -> list[Claim]:
    """Lease what can be sent now, at most the budget. Sinks that waited longest come first."""
    with transaction.atomic():
        turns = _turns(list(kinds))
        limits = shares(turns, budget)
        claims = _lease(turns, limits) if any(limits) else []
        _note_turns(turns, Counter(leased.sink_id for leased in claims))
    return claims


def shares(turns: Sequence[Turn], budget: Budget) -> list[int]:
    """Return how many deliveries each sink may lease. Pure.

    Each gets an equal share of what is left, so that the first sinks do not take all.
    """
    limits: list[int] = []
    total, suspect = budget.total, budget.suspect
    for index, turn in enumerate(turns):
        limit = turn.limit(-(-total // (len(turns) - index)), suspect)
        total -= limit
        suspect -= limit if turn.is_suspect else 0
        limits.append(limit)
    return limits


def _turns(kinds: list[str]) -> list[Turn]:
    """Lock sinks that have something to send. Those that another relay serves at this moment are left out."""
    with connection.cursor() as cursor:
        cursor.execute(_TURNS, {"kinds": kinds, "sinks": _SINKS, "suspect": SUSPECT_FAILURES})
        return [Turn(*row) for row in cursor.fetchall()]


def _lease(turns: Sequence[Turn], limits: Sequence[int]) -> list[Claim]:
    with connection.cursor() as cursor:
        sinks = [turn.sink_id for turn in turns]
        cursor.execute(_LEASE, {"sinks": sinks, "limits": list(limits), "seconds": LEASE_SECONDS})
        return [Claim(*row) for row in cursor.fetchall()]


def _note_turns(turns: Sequence[Turn], leased: Mapping[UUID, int]) -> None:
    tokens = [turn.tokens - leased.get(turn.sink_id, 0) for turn in turns]
    refills = [turn.refilled_at for turn in turns]
    with connection.cursor() as cursor:
        cursor.execute(_NOTE, [[turn.sink_id for turn in turns], tokens, refills])


# The bucket holds two seconds' worth.
_TURNS = """
SELECT progress.sink_id,
       least(2.0 * sink.per_second,
             progress.tokens + sink.per_second
             * greatest(0, extract(epoch FROM statement_timestamp() - progress.refilled_at)))::float,
       (SELECT count(*) FROM delivery_lane lane
         WHERE lane.sink_id = sink.id AND lane.leased_until > statement_timestamp()),
       sink.max_in_flight, progress.failures >= %(suspect)s, statement_timestamp()
FROM delivery_sinkprogress progress JOIN delivery_sink sink ON sink.id = progress.sink_id
WHERE sink.state = 'active' AND sink.kind = ANY(%(kinds)s) AND EXISTS (
    SELECT FROM delivery_lane lane
    WHERE lane.sink_id = sink.id AND lane.next_at <= statement_timestamp()
      AND (lane.leased_until IS NULL OR lane.leased_until <= statement_timestamp())
)
ORDER BY progress.claimed_at LIMIT %(sinks)s FOR NO KEY UPDATE OF progress SKIP LOCKED
"""
# Live events come before replayed ones. A lane without a waiting delivery is one that is about to be deleted.
_LEASE = """
WITH turn AS (
    SELECT * FROM unnest(%(sinks)s::uuid[], %(limits)s::int[]) AS turn (sink_id, most) WHERE most > 0
), due AS (
    SELECT free.id FROM turn CROSS JOIN LATERAL (
        SELECT lane.id FROM delivery_lane lane
        WHERE lane.sink_id = turn.sink_id AND lane.next_at <= statement_timestamp()
          AND (lane.leased_until IS NULL OR lane.leased_until <= statement_timestamp())
        ORDER BY lane.replay > 0, lane.next_at, lane.id LIMIT turn.most FOR UPDATE SKIP LOCKED
    ) free
), leased AS (
    UPDATE delivery_lane lane
    SET lease_epoch = lane.lease_epoch + 1,
        leased_until = statement_timestamp() + make_interval(secs => %(seconds)s)
    FROM due WHERE lane.id = due.id
    RETURNING lane.id, lane.lease_epoch, lane.sink_id, lane.key, lane.replay
)
SELECT leased.id, leased.lease_epoch, leased.sink_id, sink.kind, head.id, head.event_id, head.seq,
       leased.key, leased.replay, head.attempt + 1
FROM leased JOIN delivery_sink sink ON sink.id = leased.sink_id
CROSS JOIN LATERAL (
    SELECT id, event_id, seq, attempt FROM delivery_delivery delivery
    WHERE delivery.sink_id = leased.sink_id AND delivery.key = leased.key
      AND delivery.replay = leased.replay AND delivery.state = 'waiting'
    ORDER BY delivery.seq LIMIT 1
) head
ORDER BY head.seq
"""
_NOTE = """
UPDATE delivery_sinkprogress progress
SET tokens = turn.tokens, refilled_at = turn.refilled_at, claimed_at = statement_timestamp()
FROM unnest(%s::uuid[], %s::float[], %s::timestamptz[]) AS turn (sink_id, tokens, refilled_at)
WHERE progress.sink_id = turn.sink_id
"""
