"""Samples of the primary: one thread of this process asks where it is, and writes the beat of replication."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

import structlog
from django.db import DatabaseError, InterfaceError, connection

from controlplane.database.dispensable import write_if_possible
from controlplane.replicas.choice import MOST_STALENESS, Sample
from controlplane.replicas.positions import Position

# While requests come, and otherwise.
BUSY_SECONDS, IDLE_SECONDS = 0.25, 1.0
_BUSY_FOR = 5.0
_NUMBER = int(MOST_STALENESS / BUSY_SECONDS) + 1
_log = structlog.get_logger(__name__)

# Committed changes are never behind the place where the next one is inserted.
_SAMPLE = """
SELECT pg_walfile_name(lsn), lsn::text,
       EXISTS (SELECT FROM replicas_beat WHERE id = 1 AND at > clock_timestamp() - interval '0.9 s'
               AND timeline = left(pg_walfile_name(lsn), 8))
  FROM pg_current_wal_insert_lsn() AS lsn
"""
# Its replay proves that a replica is on the primary's timeline. It also moves what the last change has left
# unfinished in a page of the log, so that an idle primary's replicas are seen to have everything.
_BEAT = """
INSERT INTO replicas_beat AS beat (id, at, timeline)
SELECT 1, clock_timestamp(), left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
ON CONFLICT (id) DO UPDATE SET at = excluded.at, timeline = excluded.timeline
 WHERE beat.at < excluded.at - interval '0.9 s' OR beat.timeline <> excluded.timeline
"""


def sample_primary() -> Sample:
    """Ask the primary where it is; write the beat if nobody did in the last second. Raises DatabaseError."""
    began = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute(_SAMPLE)
        walfile, lsn, has_beat = cursor.fetchone()
        if not has_beat:
            write_if_possible(lambda: cursor.execute(_BEAT))
    return Sample(Position.of(walfile, lsn), began)


class Sampler:
    """Takes samples from the first request on; a process without such requests has no thread."""

    def __init__(self, take: Callable[[], Sample] = sample_primary) -> None:
        self._take = take
        self._samples: deque[Sample] = deque(maxlen=_NUMBER)
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._used_at = 0.0

    def samples(self) -> Sequence[Sample]:
        """Return what is known of the primary, oldest first."""
        self._used_at = time.monotonic()
        if self._thread is None:
            self._start()
        with self._lock:
            return tuple(self._samples)

    def stop(self) -> None:
        """End the thread and forget the samples; the next request starts again."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(5)
        self._thread, self._stopping = None, threading.Event()
        self._samples.clear()

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, args=[self._stopping], name="replica-samples", daemon=True
                )
                self._thread.start()

    def _run(self, stopping: threading.Event) -> None:
        while not stopping.is_set():
            self._take_one()
            is_busy = time.monotonic() - self._used_at < _BUSY_FOR
            stopping.wait(BUSY_SECONDS if is_busy else IDLE_SECONDS)
        connection.close()

    def _take_one(self) -> None:
        try:
            sample = self._take()
        except (DatabaseError, InterfaceError) as error:
            # Without new samples, what is known becomes too old, and reads go to the primary.
            _log.warning("replicas.no_sample", error=str(error).strip())
            connection.close()
            return
        with self._lock:
            self._samples.append(sample)


SAMPLER = Sampler()
