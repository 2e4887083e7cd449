"""Answer NATS' requests for logins: any number of processes may, each request goes to one of them."""

from __future__ import annotations

import logging
import queue
import random
import threading
import time
from concurrent.futures import Future
from typing import TypeVar
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections, connection

from controlplane.messaging.logins.callout import SUBJECT, Grant, accept, read_request, refuse
from controlplane.messaging.logins.nkeys import AccountKey
from controlplane.messaging.logins.server_config import AGENTS, LOGIN_SECONDS
from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_types import Message, NatsRefused, NatsUnavailable
from registry.dispatch.nats_logins.decide import (
    REASONS,
    LoginFacts,
    Verdict,
    consumers_of,
    permissions,
)
from registry.dispatch.nats_logins.delays import Delays
from registry.dispatch.nats_logins.metrics import NATS_LOGINS
from registry.dispatch.nats_logins.preparing import prepare
from registry.dispatch.nats_logins.verify import Attempt, Outcome, verify_logins

_log = logging.getLogger(__name__)
_MOST = 256
_PAUSE_SECONDS = 0.5
_PATIENCE_SECONDS = LOGIN_SECONDS
_T = TypeVar("_T")
_Waiting = tuple[Attempt, "Future[Outcome]"]
_UNAVAILABLE = Outcome(Verdict.UNAVAILABLE, None)


def answer_logins(nats: NatsConnection, stopping: threading.Event) -> None:
    """Answer until `stopping`. Without NATS_ISSUER_SEED, there is nothing to answer."""
    if not settings.NATS_ISSUER_SEED:
        stopping.wait()
        return
    desk = LoginDesk(nats, AccountKey(settings.NATS_ISSUER_SEED))
    nats.subscribe(SUBJECT, desk.answer, queue="controlplane")
    while not stopping.is_set():
        desk.verify_waiting(_PAUSE_SECONDS)
    connection.close()


class LoginDesk:
    """Threads of the connection call `answer`; one thread verifies what they wait for, many at a time."""

    def __init__(self, nats: NatsConnection, key: AccountKey) -> None:
        self._nats, self._key = nats, key
        self._delays = Delays()
        self._waiting: queue.SimpleQueue[_Waiting] = queue.SimpleQueue()
        self._prepared: queue.SimpleQueue[UUID] = queue.SimpleQueue()

    def answer(self, message: Message) -> bytes | None:
        """Return the answer to one login; None if the client no longer waits for it."""
        try:
            request = read_request(message.body)
        except ValueError as error:
            _log.warning("nats_login_unreadable", extra={"error": str(error)})
            return None
        if self._delays.note(request.server_id, request.asked_at, time.time()) > _PATIENCE_SECONDS:
            # When very many log in at once, those are answered that still wait.
            NATS_LOGINS.labels("late").inc()
            return None
        # Spread, so that a fleet that logged in at once does not do so again.
        seconds = round(settings.NATS_LOGIN_SECONDS * random.uniform(0.7, 1))  # noqa: S311
        attempt = Attempt(request, seconds)
        return self._reply(attempt, self._outcome(attempt))

    def verify_waiting(self, seconds: float) -> None:
        """Verify all logins that wait; return after `seconds` if there are none."""
        try:
            waiting = [self._waiting.get(timeout=seconds)]
        except queue.Empty:
            return
        waiting += _drain(self._waiting, _MOST)
        prepared = _drain(self._prepared, _MOST)
        try:
            close_old_connections()
            outcomes = verify_logins([attempt for attempt, _ in waiting], prepared)
        except (DatabaseError, InterfaceError) as error:
            # Refused at once, and not left without an answer: clients try again either way.
            _log.warning("nats_logins_unavailable", extra={"error": str(error)})
            connection.close()
            outcomes = [_UNAVAILABLE] * len(waiting)
        for (_, future), outcome in zip(waiting, outcomes, strict=True):
            future.set_result(outcome)

    def _outcome(self, attempt: Attempt) -> Outcome:
        future: Future[Outcome] = Future()
        self._waiting.put((attempt, future))
        try:
            outcome = future.result(2 * LOGIN_SECONDS)
        except TimeoutError:
            return _UNAVAILABLE
        facts = outcome.facts
        if outcome.verdict is Verdict.ACCEPTED and facts and not facts.is_prepared:
            return outcome if self._prepare(facts) else Outcome(Verdict.UNAVAILABLE, facts)
        return outcome

    def _prepare(self, facts: LoginFacts) -> bool:
        """Create the agent's consumers, which it cannot create itself. Return whether they are there."""
        consumers = consumers_of(facts.topic)
        assert consumers is not None  # judged before
        try:
            prepare(self._nats, consumers)
        except (NatsRefused, NatsUnavailable) as error:
            _log.warning(
                "nats_consumers_missing", extra={"agent_id": str(facts.agent_id), "error": str(error)}
            )
            return False
        self._prepared.put(facts.serial)
        return True

    def _reply(self, attempt: Attempt, outcome: Outcome) -> bytes:
        NATS_LOGINS.labels(outcome.verdict.value).inc()
        request, facts = attempt.request, outcome.facts
        consumers = consumers_of(facts.topic) if facts else None
        if outcome.verdict is Verdict.ACCEPTED and facts and consumers:
            allowed = permissions(facts.agent_id, consumers)
            return accept(self._key, request, Grant(AGENTS, facts.name, allowed, attempt.seconds))
        # Without the user that was sent: people type passwords into the wrong field.
        agent_id = str(facts.agent_id) if facts else ""
        _log.info(
            "nats_login_refused",
            extra={"agent_id": agent_id, "reason": outcome.verdict.value, "host": request.host},
        )
        return refuse(self._key, request, REASONS[outcome.verdict])


def _drain(source: queue.SimpleQueue[_T], most: int) -> list[_T]:
    """Return what waits in the queue, at most so many."""
    items: list[_T] = []
    while len(items) < most:
        try:
            items.append(source.get_nowait())
        except queue.Empty:
            break
    return items
