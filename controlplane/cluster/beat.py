"""The scheduler of beat: of any number of beats, one sends tasks.

A second beat that sends too does no harm, since tasks only wake what looks at rows. It costs twice the work.
"""

from __future__ import annotations

import time
from typing import Any

import structlog
from celery.beat import PersistentScheduler
from django.db import Error, connections

from controlplane.cluster.leadership import Role, lead, resign
from controlplane.database import silence

# A third of the lease: two attempts may fail.
_RENEWAL_SECONDS = 2.0
log = structlog.get_logger(__name__)


class LeaderScheduler(PersistentScheduler):
    """Sends what is due while this process leads."""

    _renewed_at = float("-inf")
    _leads = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        silence.watch.enable()
        super().__init__(*args, **kwargs)

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Send tasks that are due, if this process leads; return the seconds until the next call."""
        if time.monotonic() - self._renewed_at >= _RENEWAL_SECONDS:
            self._renew()
        if not self._leads:
            # What was read is written again when the schedule is saved: probes look at the age of its file.
            self.get_schedule()
            return _RENEWAL_SECONDS
        return float(min(super().tick(*args, **kwargs), _RENEWAL_SECONDS))

    def close(self) -> None:
        """Save the times of what was sent, and let another beat lead at once."""
        super().close()
        if self._leads:
            _attempt(lambda: resign(Role.BEAT))

    def _renew(self) -> None:
        # Before the statement: the lease begins no earlier.
        led, asked_at = self._leads, time.monotonic()
        self._leads = _attempt(lambda: lead(Role.BEAT)) is not None
        self._renewed_at = asked_at if self._leads else float("-inf")
        if self._leads != led:
            log.info("beat.leads" if self._leads else "beat.stands_by")


def _attempt(statement: Any) -> Any:
    """Run the statement; return None without Postgres, with which a beat has nothing to wake."""
    try:
        return statement()
    except Error as error:
        log.warning("beat.database_unavailable", error=str(error).strip())
        return None
    finally:
        for connection in connections.all(initialized_only=True):
            connection.close_if_unusable_or_obsolete()
