"""Ask the replica of this thread's connection how far it is, at most a few times a second."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import structlog
from django.db import Error, connections

from controlplane.replicas.choice import Choice, Outcome, Replayed, Sample, Wish, choose, is_known
from controlplane.replicas.pauses import Pause
from controlplane.replicas.positions import Position, parse_lsn
from controlplane.replicas.reading import REPLICA
from controlplane.replicas.samples import SAMPLER

# How long a request waits for its position, and between two questions meanwhile.
PATIENCE_SECONDS = 0.1
_POLL_SECONDS = 0.005
PAUSE = Pause(5.0)
_log = structlog.get_logger(__name__)

_ASK = """
SELECT pg_is_in_recovery(), pg_last_wal_replay_lsn()::text,
       (SELECT timeline FROM replicas_beat WHERE id = 1)
"""


def choose_database(wish: Wish) -> Choice:
    """Return where a request reads. Asks this thread's replica if that is needed; raises no errors of it."""
    if wish.bound <= 0:
        return Choice(Outcome.NEWEST)
    samples = SAMPLER.samples()
    if not PAUSE.allows(time.monotonic()):
        return Choice(Outcome.AWAY)
    try:
        choice = _choose(wish, samples)
    except Error as error:
        note_failure(error)
        return Choice(Outcome.AWAY)
    PAUSE.succeed()
    return choice


def note_failure(error: Exception) -> None:
    """Close this thread's connection, and let other requests go to the primary for a while."""
    if PAUSE.fail(time.monotonic()):
        _log.warning("replicas.away", error=str(error).strip())
    connections[REPLICA].close()


def _choose(wish: Wish, samples: Sequence[Sample]) -> Choice:
    replayed = _last_answer()
    now = time.monotonic()
    choice = choose(wish, replayed, samples, now)
    if is_known(replayed, now) and not choice.is_worth_waiting:
        return choice
    deadline = now + PATIENCE_SECONDS
    while True:
        choice = choose(wish, _ask(), samples, time.monotonic())
        if not choice.is_worth_waiting or time.monotonic() + _POLL_SECONDS > deadline:
            return choice
        time.sleep(_POLL_SECONDS)


def _last_answer() -> Replayed | None:
    """Return the last known state of the server of this connection.

    A new connection may lead to another replica.
    """
    replica: Any = connections[REPLICA]
    replica.close_if_health_check_failed()
    replica.ensure_connection()
    session, replayed = getattr(replica, "last_replayed", (None, None))
    return replayed if session is replica.connection else None


def _ask() -> Replayed | None:
    replica: Any = connections[REPLICA]
    began = time.monotonic()
    with replica.cursor() as cursor:
        cursor.execute(_ASK)
        in_recovery, lsn, timeline = cursor.fetchone()
    replayed = None
    if in_recovery and lsn and timeline:
        replayed = Replayed(Position(int(timeline, 16), parse_lsn(lsn)), began)
    replica.last_replayed = (replica.connection, replayed)
    return replayed
