"""The relay: sends what is due to receivers, with many requests at a time. Any number of processes may run.

One thread claims and settles; others only talk to receivers, so that one that hangs delays no other.
"""

from __future__ import annotations

import logging
import queue
import random
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import connection

from controlplane.delivery.audience import Audience
from controlplane.delivery.changes import Change, read_changes, with_change
from controlplane.delivery.claims import SUSPECT_FAILURES, Budget, Claim, claim
from controlplane.delivery.dispatcher import with_teams
from controlplane.delivery.kinds import Message, Sender, Sent, kind_names
from controlplane.delivery.logged_event import LoggedEvent
from controlplane.delivery.metrics import DELIVERIES, DELIVERY_SECONDS, FIRST_ATTEMPT_SECONDS
from controlplane.delivery.models import DeliveryState
from controlplane.delivery.origins import origin
from controlplane.delivery.receivers import Receiver, Receivers
from controlplane.delivery.references import references_of
from controlplane.delivery.schedule import Answer, Next, Result, SinkHealth, after_attempt
from controlplane.delivery.settling import Outcome, count_results, settle
from controlplane.delivery.stopping import disable, pause
from controlplane.events.models import Event
from controlplane.messaging.failpoints import reach
from controlplane.messaging.loops import repeat
from controlplane.observability.trace_context import is_sampled
from controlplane.observability.traces import spans

# By creator of a sink and event.
Changes = Mapping[tuple[UUID, UUID], Change]
_log = logging.getLogger(__name__)
# For secrets whose key is missing, until an operator brings it back.
_LATER = timedelta(minutes=1)
_BATCH = 256
_SHORT_PAUSE, _LONGEST_PAUSE = 0.02, 0.5


@dataclass(frozen=True, slots=True)
class _Job:
    """A delivery that a thread sends."""

    claim: Claim
    sender: Sender
    message: Message
    health: SinkHealth


class EventRelay:
    """Sends to sinks until it is stopped."""

    def __init__(self) -> None:
        self._audience = Audience()
        self._receivers = Receivers()
        self._threads = ThreadPoolExecutor(settings.WEBHOOK_CONNECTIONS, thread_name_prefix="delivery")
        self._finished: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        # In flight: lane and whether its sink is a suspect.
        self._in_flight: dict[int, bool] = {}
        self._pause = _SHORT_PAUSE

    def run(self, stop: threading.Event) -> None:
        """Send what there is until `stop`; then settle what has been answered by then."""
        repeat(self.step, stop)
        self._threads.shutdown(wait=False, cancel_futures=True)
        # What has been answered by now is not sent again.
        self._settle(self._answered(0))
        self._receivers.close()
        connection.close()

    def step(self) -> float:
        """Settle what was answered, claim and send what is due; return how long to wait before the next."""
        settled = self._settle(self._answered(self._pause if self._in_flight else 0))
        claimed = self._send_due()
        if settled or claimed:
            self._pause = _SHORT_PAUSE
            return 0
        self._pause = min(1.5 * self._pause, _LONGEST_PAUSE)
        return 0 if self._in_flight else self._pause

    def _answered(self, wait: float) -> list[Outcome]:
        """Return outcomes that are there; wait for the first, at most so many seconds."""
        outcomes: list[Outcome] = []
        try:
            outcomes.append(self._finished.get(timeout=wait) if wait else self._finished.get_nowait())
            while len(outcomes) < _BATCH:
                outcomes.append(self._finished.get_nowait())
        except queue.Empty:
            pass
        return outcomes

    def _settle(self, outcomes: Sequence[Outcome]) -> int:
        if not outcomes:
            return 0
        try:
            # If Postgres is away, the leases end, and the same deliveries are sent again with the same ids.
            self._note(settle(outcomes))
        finally:
            for outcome in outcomes:
                self._in_flight.pop(outcome.claim.lane_id, None)
        return len(outcomes)

    def _note(self, counted: Sequence[Outcome]) -> None:
        for labels, number in count_results(counted).items():
            DELIVERIES.labels(*labels).inc(number)
        for outcome in counted:
            if outcome.answer:
                seconds = outcome.answer.milliseconds / 1000
                DELIVERY_SECONDS.labels(outcome.claim.sink_kind).observe(seconds)
            if outcome.disable:
                disable(outcome.claim.sink_id, outcome.disable)

    def _send_due(self) -> int:
        free = settings.WEBHOOK_CONNECTIONS - len(self._in_flight)
        suspects = sum(self._in_flight.values())
        budget = Budget(min(free, _BATCH), max(0, settings.WEBHOOK_CONNECTIONS // 2 - suspects))
        if budget.total <= 0:
            return 0
        claims = claim(budget, kinds=kind_names())
        reach("claimed")
        if claims:
            self._start(claims)
        return len(claims)

    def _start(self, claims: Sequence[Claim]) -> None:
        now = self._audience.refresh()
        events, references = _events_of(claims), references_of(claims)
        receivers = self._receivers.read({leased.sink_id for leased in claims})
        changes = self._changes(claims, receivers, events)
        for leased in claims:
            receiver = receivers.get(leased.sink_id)
            self._in_flight[leased.lane_id] = bool(receiver and receiver.health.failures >= SUSPECT_FAILURES)
            decided = self._decide(leased, receiver, events.get(leased.event_id), now, changes)
            if isinstance(decided, Outcome):
                self._finished.put(decided)
            else:
                if reference := references.get((leased.sink_id, leased.key)):
                    decided = replace(decided, message=replace(decided.message, reference=reference))
                self._threads.submit(self._send, decided)

    def _decide(
        self,
        leased: Claim,
        receiver: Receiver | None,
        event: LoggedEvent | None,
        now: datetime,
        changes: Changes,
    ) -> Outcome | _Job:
        """Return what to send, or what comes of a delivery that must not be sent."""
        if receiver is None:
            return Outcome(leased, DeliveryState.WAITING, retry_at=now + _LATER)
        if event is None:
            return Outcome(leased, DeliveryState.SKIPPED, reason="event_gone")
        creator = receiver.sink.created_by_id
        if self._audience.caller(creator) is None:
            pause(leased.sink_id, "creator_disabled")
            return Outcome(leased, DeliveryState.WAITING)
        if not self._audience.shows(creator, event):
            return Outcome(leased, DeliveryState.SKIPPED, reason="permission")
        # One that fails, or is paused after failures, makes its own events late.
        if leased.attempt == 1 and not (leased.replay or receiver.health.failures):
            FIRST_ATTEMPT_SECONDS.observe(max((now - event.at).total_seconds(), 0.0))
        event = with_change(event, changes.get((creator, event.id)), origin())
        message = Message(event, origin(), leased.key, now, leased.replay > 0, flavour=receiver.sink.format)
        return _Job(leased, receiver.sender, message, receiver.health)

    def _changes(
        self, claims: Sequence[Claim], receivers: Mapping[UUID, Receiver], events: Mapping[UUID, LoggedEvent]
    ) -> Changes:
        """Return what the events' mutations changed, as far as each sink's creator may read that."""
        wanted: dict[UUID, set[UUID]] = {}
        for leased in claims:
            if (receiver := receivers.get(leased.sink_id)) and leased.event_id in events:
                wanted.setdefault(receiver.sink.created_by_id, set()).add(leased.event_id)
        return {
            (creator, event_id): change
            for creator, ids in wanted.items()
            if (caller := self._audience.caller(creator))
            for event_id, change in read_changes(caller, [events[event_id] for event_id in ids]).items()
        }

    def _send(self, job: _Job) -> None:
        """Talk to one receiver, in a thread without a connection to Postgres."""
        with _span_of(job) as span:
            try:
                sent = job.sender.send(job.message)
            except Exception:
                # A mistake of ours with one kind or event must not keep a place for ever.
                _log.exception("delivery_failed", extra={"sink_kind": job.claim.sink_kind})
                sent = Sent(Answer(Result.INTERNAL, error="The control plane could not send the event."))
            if sent.answer.result is not Result.DELIVERED:
                span.fail(sent.answer.result)
        reach("sent")
        self._finished.put(self._outcome(job, sent))

    def _outcome(self, job: _Job, sent: Sent) -> Outcome:
        then = after_attempt(
            sent.answer,
            attempt=job.claim.attempt,
            schedule=settings.WEBHOOK_SCHEDULE,
            health=job.health,
            now=job.message.attempted_at,
            random=random.random(),  # noqa: S311  (jitter)
        )
        return Outcome(
            job.claim,
            _state_of(then),
            sent.answer,
            then.retry_at,
            disable=then.disable,
            counts=then.counts,
            headers=sent.headers,
            response=sent.response,
            reference=sent.reference,
        )


def _span_of(job: _Job) -> spans.Span:
    """Begin the span of an attempt in the trace of what caused the event, if that is recorded."""
    event = job.message.event
    if not (spans.is_on() and is_sampled(event.traceparent)):
        return spans.NO_SPAN
    attributes: spans.Attributes = {
        "cloudevents.event_id": str(event.id),
        "cloudevents.event_type": event.type,
        "controlplane.sink_kind": job.claim.sink_kind,
        "controlplane.attempt": job.claim.attempt,
    }
    return spans.span("relay.deliver", "producer", parent=event.traceparent, attributes=attributes)


def _state_of(then: Next) -> str:
    if then.is_delivered:
        return DeliveryState.DELIVERED
    return DeliveryState.DEAD if then.is_dead else DeliveryState.WAITING


def _events_of(claims: Iterable[Claim]) -> dict[UUID, LoggedEvent]:
    rows = list(Event.objects.filter(id__in={leased.event_id for leased in claims}))
    return {event.id: event for event in with_teams(rows)}
