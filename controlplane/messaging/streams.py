"""The streams of dispatch: set up by every process that uses them, compared with what is there.

A stream with another retention or other subjects belongs to somebody else: it stays as it is, and readiness
and metrics show it. A younger stream than recorded means that NATS has lost its messages.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain

from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Now

from controlplane.database.locks import AdvisoryLock, lock
from controlplane.messaging import outbox
from controlplane.messaging.loops import repeat
from controlplane.messaging.metrics import STREAM_REPLICAS_MISSING
from controlplane.messaging.models import StreamRecord
from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_types import NatsRefused, StreamSpec

REQUESTS = "dcm-agent-requests"
RESPONSES = "dcm-agent-responses"
STATUS = "dcm-status"
ADVISORIES = "controlplane-advisories"
_MAX_DELIVERIES = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES"
_CHECK_SECONDS = 10.0
_LOOK_SECONDS = 0.2
_DIFFERENCE_LENGTH = 500

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Observed:
    """A stream after its set-up. created_at: None if it could not be created."""

    name: str
    created_at: datetime | None
    difference: str


# Return streams that other parts of the system need at present.
_providers: list[Callable[[], Iterable[StreamSpec]]] = []


def provide_streams(provider: Callable[[], Iterable[StreamSpec]]) -> None:
    """Have these streams set up, compared and recorded too. They are asked for at each check."""
    _providers.append(provider)


def specs() -> tuple[StreamSpec, ...]:
    """Return the streams that are needed (dispatch.md B; events-out.md 5)."""
    needed = chain(_of_dispatch(), *(provider() for provider in _providers))
    return tuple(replace(spec, replicas=settings.NATS_REPLICAS) for spec in needed)


def _of_dispatch() -> tuple[StreamSpec, ...]:
    advised = tuple(f"{_MAX_DELIVERIES}.{stream}.*" for stream in (REQUESTS, RESPONSES))
    kept = settings.DISPATCH_STATUS_KEPT_SECONDS
    return (
        # A full queue refuses messages instead of dropping the oldest: they wait in the outbox.
        StreamSpec(
            REQUESTS,
            ("dcm.agent.>",),
            "workqueue",
            discard="new",
            max_messages_per_subject=settings.DISPATCH_MAX_QUEUED_REQUESTS,
        ),
        StreamSpec(RESPONSES, ("dcm.agents.responses", "dcm.agents.*.responses"), "workqueue"),
        StreamSpec(STATUS, ("dcm.*",), "limits", max_age_seconds=kept),
        StreamSpec(ADVISORIES, advised, "limits", max_age_seconds=kept),
    )


def keep_streams(nats: NatsConnection, stop: threading.Event) -> None:
    """Set up the streams after each connection, and every few seconds, until `stop`."""
    state = _Checks()

    def step() -> float:
        if nats.connected and state.is_due(nats.connects):
            record([set_up(nats, spec) for spec in specs()])
            state.note(nats.connects)
        return _LOOK_SECONDS

    repeat(step, stop)


class _Checks:
    """When the streams were last checked."""

    def __init__(self) -> None:
        self._connects, self._looks = 0, 0

    def is_due(self, connects: int) -> bool:
        self._looks += 1
        return connects != self._connects or self._looks * _LOOK_SECONDS >= _CHECK_SECONDS

    def note(self, connects: int) -> None:
        self._connects, self._looks = connects, 0


def set_up(nats: NatsConnection, spec: StreamSpec) -> Observed:
    """Create or compare a stream. Raises NatsUnavailable."""
    try:
        facts = nats.ensure_stream(spec)
    except NatsRefused as error:
        # Such as subjects that another stream has.
        return Observed(spec.name, None, f"cannot be created: {error}")
    STREAM_REPLICAS_MISSING.labels(spec.name).set(facts.missing_replicas)
    return Observed(spec.name, facts.created_at, facts.difference)


def record(observed: Iterable[Observed]) -> int:
    """Store what was observed; return how many messages are sent again because NATS has lost them."""
    return sum(_record(one) for one in observed)


def _record(observed: Observed) -> int:
    known = StreamRecord.objects.filter(name=observed.name).first()
    difference = observed.difference[:_DIFFERENCE_LENGTH]
    if difference and (known is None or known.difference != difference):
        _log.error("stream_differs", extra={"stream": observed.name, "difference": difference})
    with transaction.atomic():
        resent = _note_creation(observed)
        StreamRecord.objects.filter(name=observed.name).update(difference=difference, checked_at=Now())
    if resent:
        _log.warning("messages_sent_again", extra={"stream": observed.name, "count": resent})
    return resent


def _note_creation(observed: Observed) -> int:
    StreamRecord.objects.bulk_create(
        [StreamRecord(name=observed.name, created_at=observed.created_at)], ignore_conflicts=True
    )
    if not _is_younger(observed):
        return 0
    # Batches that are on their way to the former stream are marked as sent before this goes on.
    lock(AdvisoryLock.OUTBOX)
    # Another process may have noticed it meanwhile.
    if not _is_younger(observed):
        return 0
    former = StreamRecord.objects.filter(name=observed.name)
    is_first = former.filter(created_at=None).exists()
    former.update(created_at=observed.created_at)
    if is_first or observed.name != REQUESTS:
        return 0
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
    return outbox.send_again()


def _is_younger(observed: Observed) -> bool:
    if observed.created_at is None:
        return False
    recorded = StreamRecord.objects.values_list("created_at", flat=True).get(name=observed.name)
    return recorded is None or observed.created_at > recorded


def have_no_differences() -> bool:
    """True if no stream differs from what is needed, as far as a process has checked."""
    return not StreamRecord.objects.exclude(difference="").exists()
