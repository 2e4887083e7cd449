"""Consumers of what agents and providers publish: answers, statuses, reports of health, failed deliveries.

A message is acknowledged after the commit of its effect, or of its dead letter. Any number of processes and
threads may run these loops.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence

import structlog
from django.db import DatabaseError, InterfaceError, OperationalError, connections
from django.db import connection as database

from controlplane.database.changes import accepts_changes
from controlplane.messaging.failpoints import reach
from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_types import ConsumerSpec, NatsUnavailable, Received
from controlplane.messaging.streams import ADVISORIES as ADVISORY_STREAM
from controlplane.messaging.streams import RESPONSES, STATUS
from registry.dispatch.inbound import dead_letters
from registry.dispatch.inbound.arrivals import SHARED_HEALTH, Arrival, Refused, apply
from registry.dispatch.inbound.lanes import Lanes
from registry.dispatch.metrics import MESSAGES

log = structlog.get_logger(__name__)
MAX_DELIVERIES = 10
# Names of DCM's own control plane, so that it can be replaced without losing the position.
ANSWERS = ConsumerSpec(RESPONSES, "control-plane-response-consumer", max_deliveries=MAX_DELIVERIES)
STATUSES = ConsumerSpec(STATUS, "control-plane", ("dcm.*",), max_deliveries=-1)
# Created by agents: it may be absent.
HEALTH = ConsumerSpec("dcm-health", "control-plane", (SHARED_HEALTH,), max_deliveries=-1)
ADVISORIES = ConsumerSpec(ADVISORY_STREAM, "control-plane", max_deliveries=-1)
# Long enough for a batch to be handled within `ack_wait` on a busy machine.
BATCH = 100
_FETCH_SECONDS = 2.0
# Transactions at the same time, which wait for the disk together.
_LANES = 4
_ABSENT_SECONDS = 5.0
_AGAIN_SECONDS = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
Handler = Callable[[NatsConnection, Received], None]


def consume_answers(connection: NatsConnection, stopping: threading.Event) -> None:
    _consume(connection, stopping, ANSWERS, _apply, lanes=_LANES)


def consume_statuses(connection: NatsConnection, stopping: threading.Event) -> None:
    _consume(connection, stopping, STATUSES, _apply, lanes=_LANES)


def consume_health(connection: NatsConnection, stopping: threading.Event) -> None:
    _consume(connection, stopping, HEALTH, _apply, pause=_ABSENT_SECONDS)


def consume_advisories(connection: NatsConnection, stopping: threading.Event) -> None:
    """Keep requests and answers that were delivered too often, and delete them from their streams."""
    _consume(connection, stopping, ADVISORIES, _capture)


def _consume(
    connection: NatsConnection,
    stopping: threading.Event,
    consumer: ConsumerSpec,
    handler: Handler,
    *,
    lanes: int = 1,
    pause: float = 0,
) -> None:
    pool = Lanes(lanes, lambda messages: _handle_batch(connection, messages, handler))
    try:
        while not stopping.is_set():
            _wait_for_database(stopping)
            messages = connection.fetch(consumer, limit=BATCH, seconds=_FETCH_SECONDS)
            pool.handle(messages)
            if not messages and pause:
                stopping.wait(pause)
    finally:
        pool.close()
        connections.close_all()


def _wait_for_database(stopping: threading.Event) -> None:
    """Wait until the database answers: meanwhile, no message uses up its deliveries."""
    pause = _FIRST_PAUSE
    while not _database_answers() and not stopping.wait(pause):
        pause = min(2 * pause, _LONGEST_PAUSE)


def _database_answers() -> bool:
    """Return whether what a message changes can be written."""
    try:
        database.close_if_unusable_or_obsolete()
        return accepts_changes()
    except (DatabaseError, InterfaceError) as error:
        log.warning("dispatch.database_unavailable", error=str(error))
        connections.close_all()
        return False


def _handle_batch(connection: NatsConnection, messages: Sequence[Received], handler: Handler) -> None:
    for number, message in enumerate(messages):
        reach("answers.taken")
        try:
            _handle(connection, message, handler)
        except (OperationalError, InterfaceError, NatsUnavailable) as error:
            log.warning("dispatch.message_postponed", subject=message.subject, error=str(error))
            message.nak(_AGAIN_SECONDS)
            if isinstance(error, NatsUnavailable) or not _database_answers():
                for postponed in messages[number + 1 :]:
                    postponed.nak(_AGAIN_SECONDS)
                return
        except Exception:
            # Not even a dead letter could be stored.
            log.exception("dispatch.message_not_kept", subject=message.subject)
            message.nak(_AGAIN_SECONDS)


def _handle(connection: NatsConnection, message: Received, handler: Handler) -> None:
    """Handle and acknowledge the message. Raises what other messages may fail with as well."""
    try:
        handler(connection, message)
    except Refused as error:
        _keep(message, str(error))
    except (OperationalError, InterfaceError, NatsUnavailable):
        raise
    except Exception:
        # A mistake of ours. Other messages can be handled meanwhile.
        log.exception("dispatch.message_failed", subject=message.subject, deliveries=message.deliveries)
        if message.deliveries < MAX_DELIVERIES:
            message.nak(_AGAIN_SECONDS)
            return
        _keep(message, "The control plane could not handle it. Its log has the cause.")
    reach("answers.committed")
    message.ack()


def _apply(connection: NatsConnection, message: Received) -> None:
    traceparent = message.headers.get("traceparent", "")
    arrival = Arrival(message.subject, message.body, message.sequence, message.stored_at, traceparent)
    has_effect = apply(arrival)
    MESSAGES.labels("applied" if has_effect else "duplicate").inc()


def _keep(message: Received, reason: str) -> None:
    dead_letters.keep(
        message,
        reason,
        stream=message.stream,
        consumer=message.consumer,
        deliveries=message.deliveries,
    )
    MESSAGES.labels("refused").inc()


def _capture(connection: NatsConnection, message: Received) -> None:
    """Keep the message that an advisory is about. Idempotent."""
    stream, consumer, sequence, deliveries = _read_advisory(message.body)
    stored = connection.message(stream, sequence)
    if stored is None:
        return
    reason = f"It was delivered {deliveries} times without an acknowledgement."
    dead_letters.keep(stored, reason, stream=stream, consumer=consumer, deliveries=deliveries)
    reach("advisories.stored")
    connection.delete_message(stream, sequence)


def _read_advisory(body: bytes) -> tuple[str, str, int, int]:
    try:
        members = json.loads(body)
        return (
            str(members["stream"]),
            str(members["consumer"]),
            int(members["stream_seq"]),
            int(members["deliveries"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise Refused("It is no advisory of NATS.") from error
