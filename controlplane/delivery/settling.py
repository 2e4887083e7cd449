"""Settling: the results of attempts are written in batches. A result whose lease has ended is ignored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction

from controlplane.delivery.claims import Claim
from controlplane.delivery.models import DeliveryAttempt
from controlplane.delivery.schedule import Answer, Result
from controlplane.messaging.failpoints import reach

_ERROR_LENGTH = 500


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an attempt led to. state: WAITING with retry_at, or the state in which the delivery ends.

    answer: None if nothing was sent. reason: why it was skipped. disable: why its sink must be switched off.
    counts: False for an attempt that is only noted at the sink. headers, response: for people.
    """

    claim: Claim
    state: str
    answer: Answer | None = None
    retry_at: datetime | None = None
    reason: str = ""
    disable: str = ""
    counts: bool = True
    headers: dict[str, str] = field(default_factory=dict)
    response: str = ""
    reference: str = ""


def settle(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Write the outcomes; return those that counted."""
    with transaction.atomic():
        leased = _lock_lanes(outcomes)
        counted = [outcome for outcome in outcomes if outcome.claim.lane_id in leased]
        if counted:
            reach("lanes locked")
            _write_deliveries(counted)
            _write_attempts(counted)
            reach("deliveries settled")
            _release_lanes(counted)
            _note_health(counted)
            reach("lanes released")
    return counted


def _lock_lanes(outcomes: Sequence[Outcome]) -> set[int]:
    """Lock the lanes that are still leased by these claims, until the end of the transaction."""
    claims = [outcome.claim for outcome in outcomes]
    with connection.cursor() as cursor:
        lanes = [[claim.lane_id for claim in claims], [claim.lease_epoch for claim in claims]]
        cursor.execute(_LOCK_LANES, lanes)
        return {row[0] for row in cursor.fetchall()}


def _write_deliveries(outcomes: Sequence[Outcome]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            _WRITE_DELIVERIES,
            [
                [outcome.claim.delivery_id for outcome in outcomes],
                [outcome.state for outcome in outcomes],
                [outcome.reason for outcome in outcomes],
                [int(outcome.answer is not None and outcome.counts) for outcome in outcomes],
                [outcome.answer.status if outcome.answer else 0 for outcome in outcomes],
                [outcome.answer.error[:_ERROR_LENGTH] if outcome.answer else "" for outcome in outcomes],
                [outcome.answer.milliseconds if outcome.answer else None for outcome in outcomes],
                [outcome.reference for outcome in outcomes],
            ],
        )


def _write_attempts(outcomes: Sequence[Outcome]) -> None:
    DeliveryAttempt.objects.bulk_create(
        DeliveryAttempt(
            delivery_id=outcome.claim.delivery_id,
            number=outcome.claim.attempt,
            result=outcome.answer.result.value,
            status=outcome.answer.status,
            milliseconds=outcome.answer.milliseconds,
            request_headers=outcome.headers,
            response=outcome.response,
            error=outcome.answer.error[:_ERROR_LENGTH],
        )
        for outcome in outcomes
        if outcome.answer is not None and outcome.counts
    )


def _release_lanes(outcomes: Sequence[Outcome]) -> None:
    """Delete lanes without a waiting delivery; others can be claimed again, from `retry_at` if it is set."""
    with connection.cursor() as cursor:
        cursor.execute(_DELETE_EMPTY, [[outcome.claim.lane_id for outcome in outcomes]])
        cursor.execute(
            _RELEASE,
            [[outcome.claim.lane_id for outcome in outcomes], [outcome.retry_at for outcome in outcomes]],
        )


def _note_health(outcomes: Sequence[Outcome]) -> None:
    """Count the failures of each sink since its last success."""
    by_sink: dict[UUID, list[Answer]] = {}
    for outcome in outcomes:
        if outcome.answer is not None:
            by_sink.setdefault(outcome.claim.sink_id, []).append(outcome.answer)
    sink_ids = list(by_sink)
    healths = [_health(by_sink[sink_id]) for sink_id in sink_ids]
    if healths:
        with connection.cursor() as cursor:
            cursor.execute(_NOTE_HEALTH, [sink_ids, *map(list, zip(*healths, strict=True))])


def _health(answers: Sequence[Answer]) -> tuple[bool, int, str]:
    """Return whether one succeeded, how many failed, and the last error."""
    failed = [answer for answer in answers if answer.result is not Result.DELIVERED]
    return len(failed) < len(answers), len(failed), failed[-1].error[:_ERROR_LENGTH] if failed else ""


def count_results(outcomes: Sequence[Outcome]) -> Counter[tuple[str, str]]:
    """Return how many outcomes each kind of sink had with each result, for metrics."""
    return Counter(
        (outcome.claim.sink_kind, outcome.answer.result.value if outcome.answer else outcome.state)
        for outcome in outcomes
    )


_LOCK_LANES = """
SELECT lane.id FROM delivery_lane lane
JOIN unnest(%s::bigint[], %s::int[]) AS claim (lane_id, epoch)
  ON lane.id = claim.lane_id AND lane.lease_epoch = claim.epoch
ORDER BY lane.id FOR UPDATE OF lane
"""
_WRITE_DELIVERIES = """
UPDATE delivery_delivery delivery
SET state = result.state, reason = result.reason, attempt = delivery.attempt + result.tried,
    first_tried_at = coalesce(delivery.first_tried_at,
                              CASE WHEN result.tried = 1 THEN statement_timestamp() END),
    settled_at = CASE WHEN result.state <> 'waiting' THEN statement_timestamp() END,
    last_status = result.status, last_error = result.error, response_ms = result.milliseconds,
    reference = result.reference
FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::int[], %s::int[], %s::text[], %s::int[], %s::text[])
    AS result (id, state, reason, tried, status, error, milliseconds, reference)
WHERE delivery.id = result.id AND delivery.state = 'waiting'
"""
# A statement of its own: it sees the deliveries of a dispatcher for which the lock has waited.
_DELETE_EMPTY = """
DELETE FROM delivery_lane lane WHERE lane.id = ANY(%s) AND NOT EXISTS (
    SELECT FROM delivery_delivery delivery
    WHERE delivery.sink_id = lane.sink_id AND delivery.key = lane.key AND delivery.replay = lane.replay
      AND delivery.state = 'waiting'
)
"""
_RELEASE = """
UPDATE delivery_lane lane
SET leased_until = NULL, next_at = coalesce(result.retry_at, statement_timestamp())
FROM unnest(%s::bigint[], %s::timestamptz[]) AS result (lane_id, retry_at)
WHERE lane.id = result.lane_id
"""
# In the order of ids, so that two relays do not wait for each other.
_NOTE_HEALTH = """
WITH told AS (
    SELECT progress.sink_id, result.* FROM delivery_sinkprogress progress
    JOIN unnest(%s::uuid[], %s::bool[], %s::int[], %s::text[]) AS result (id, has_success, failures, error)
      ON progress.sink_id = result.id
    ORDER BY progress.sink_id FOR NO KEY UPDATE OF progress
)
UPDATE delivery_sinkprogress progress
SET failures = CASE WHEN told.has_success THEN 0 ELSE progress.failures + told.failures END,
    last_success_at =
        CASE WHEN told.has_success THEN statement_timestamp() ELSE progress.last_success_at END,
    last_failure_at =
        CASE WHEN told.failures > 0 THEN statement_timestamp() ELSE progress.last_failure_at END,
    last_error = CASE WHEN told.failures > 0 THEN told.error ELSE progress.last_error END
FROM told WHERE progress.sink_id = told.sink_id
"""
