"""The relay: sends the messages of the outbox to NATS. Any number of processes may do so.

A batch is claimed, published and marked in one transaction, so that a crash at any point leaves the rows
unsent. They are then published again with the same ids, which JetStream drops for two minutes.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from uuid import UUID

from django.db import connection, transaction

from controlplane.database.locks import AdvisoryLock
from controlplane.messaging import outbox
from controlplane.messaging.failpoints import reach
from controlplane.messaging.loops import repeat
from controlplane.messaging.message_traces import MessageTrace
from controlplane.messaging.metrics import OUTBOX_FAILED, OUTBOX_SENT, OUTBOX_SENT_SECONDS
from controlplane.messaging.models import DeadLetter
from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_types import NatsUnavailable, ToPublish, is_outage

# The `stream` of dead letters that never left.
OUTBOX = "outbox"
# Rows are locked for as long as NATS may take.
_PUBLISH_SECONDS = 3.0
_CONNECT_SECONDS = 1.0
# A message that NATS has refused this often is a dead letter.
_ATTEMPTS = 8
# Pauses between batches: after a partial one, and growing while there is nothing to send.
_SHORT_PAUSE, _LONGEST_PAUSE = 0.01, 0.2

TeamOf = Callable[[str], UUID | None]


class Relay:
    """Sends batches. team_of: returns the owner of a resource, for dead letters."""

    def __init__(self, nats: NatsConnection, *, team_of: TeamOf = lambda _: None) -> None:
        self._nats, self._team_of = nats, team_of
        self._size = BatchSize()
        self._pause = _SHORT_PAUSE

    def run(self, stop: threading.Event) -> None:
        """Send what there is until `stop`, and wait while there is nothing, or no NATS."""
        repeat(self._step, stop)

    def _step(self) -> float:
        if not self._nats.wait_connected(_CONNECT_SECONDS):
            return 0
        limit = self._size.value
        number = self.send_batch()
        if number == limit:
            return 0
        self._pause = _SHORT_PAUSE if number else min(1.5 * self._pause, _LONGEST_PAUSE)
        return self._pause

    def send_batch(self) -> int:
        """Send what can be sent now, at most one batch; return how many messages that were.

        Raises NatsUnavailable if none could be sent.
        """
        with transaction.atomic():
            _prepare_transaction()
            messages = outbox.claim(self._size.value)
            reach("claimed")
            if not messages:
                return 0
            traces = [MessageTrace(one) for one in messages]
            to_publish = [
                ToPublish(one.destination, one.body, one.message_id, trace.headers)
                for one, trace in zip(messages, traces, strict=True)
            ]
            began = time.monotonic()
            errors = self._nats.publish(to_publish, timeout=_PUBLISH_SECONDS)
            for trace, error in zip(traces, errors, strict=True):
                trace.end(error)
            took = time.monotonic() - began
            self._size.note(len(messages), took)
            reach("published")
            self._note(messages, errors)
            reach("marked")
        OUTBOX_SENT.inc(errors.count(""))
        for message, error in zip(messages, errors, strict=True):
            # What is sent again, after NATS has lost it, was in time before.
            if not error and not message.attempts:
                OUTBOX_SENT_SECONDS.observe(message.waited + took)
        _raise_if_all_failed(errors)
        return len(messages)

    def _note(self, messages: Sequence[outbox.Claimed], errors: Sequence[str]) -> None:
        failed = [(one, error) for one, error in zip(messages, errors, strict=True) if error]
        outages = [one.position for one, error in failed if is_outage(error)]
        OUTBOX_FAILED.labels("unavailable").inc(len(outages))
        if len(outages) == len(messages):
            return
        outbox.mark_sent([one.position for one, error in zip(messages, errors, strict=True) if not error])
        if outages:
            outbox.postpone(outages)
        for message, error in failed:
            if not is_outage(error):
                self._refused(message, error)

    def _refused(self, message: outbox.Claimed, error: str) -> None:
        OUTBOX_FAILED.labels("refused").inc()
        if message.attempts + 1 < _ATTEMPTS:
            outbox.mark_refused(message, error)
        else:
            self._give_up(message, error)

    def _give_up(self, message: outbox.Claimed, error: str) -> None:
        resource_id = str(json.loads(message.data).get("resource_id", ""))[:63]
        DeadLetter.objects.create(
            stream=OUTBOX,
            sequence=message.position,
            subject=message.destination,
            headers={"Nats-Msg-Id": message.message_id},
            payload=message.body,
            reason=error[:255],
            deliveries=message.attempts + 1,
            resource_id=resource_id,
            team_id=self._team_of(resource_id),
        )
        outbox.mark_dead(message, error)


class BatchSize:
    """How many messages NATS confirms in a fraction of a second: hundreds, or few if its disk is slow."""

    smallest, largest = 16, 1024
    _short, _long = 0.2, 0.8

    def __init__(self) -> None:
        self.value = 128

    def note(self, number: int, seconds: float) -> None:
        """Adjust to a batch that took so long, or that did not end in time."""
        if seconds > self._long:
            self.value = max(self.smallest, min(self.value, number) // 2)
        elif number == self.value and seconds < self._short:
            self.value = min(self.largest, 2 * self.value)


def _prepare_transaction() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_PREPARE)


def _raise_if_all_failed(errors: Sequence[str]) -> None:
    if all(is_outage(error) for error in errors):
        raise NatsUnavailable(errors[0])


# A lost mark only means that a message is sent again, so that nothing waits for the disk. The plan must not
# depend on statistics, which are never right for a queue. Whoever finds that NATS was emptied takes the lock
# alone (streams.py).
_PREPARE = f"""
SET LOCAL synchronous_commit = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off;
SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_material = off;
SET LOCAL enable_sort = off;
SELECT pg_advisory_xact_lock_shared({AdvisoryLock.OUTBOX.value})
"""
