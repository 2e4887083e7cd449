"""Loops that survive an absence of Postgres and of NATS, and end with any other error."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from django.db import InterfaceError, OperationalError, connection

from controlplane.database.changes import ChangesRefused, accepts_changes
from controlplane.messaging.nats_types import NatsUnavailable

_log = logging.getLogger(__name__)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0
# After a pause of changes, or a failover.
_LOOK_SECONDS = 0.5


def repeat(step: Callable[[], float], stop: threading.Event) -> None:
    """Call `step` until `stop`, and wait after each call for as many seconds as it returns.

    Without Postgres or NATS it tries again, with growing pauses and a new connection to Postgres.
    """
    pause = _FIRST_PAUSE
    while not stop.is_set():
        try:
            wait = step()
            pause = _FIRST_PAUSE
        except (OperationalError, InterfaceError, NatsUnavailable) as error:
            _log.warning(
                "loop_waits", extra={"loop": threading.current_thread().name, "error": _first_line(error)}
            )
            connection.close()
            wait, pause = pause, min(2 * pause, _LONGEST_PAUSE)
            if isinstance(error, ChangesRefused):
                _wait_for_changes(stop)
        if wait > 0:
            stop.wait(wait)
    connection.close()


def _wait_for_changes(stop: threading.Event) -> None:
    """Wait until Postgres accepts changes: a step could send something, and fail to note it, each time."""
    while not stop.wait(_LOOK_SECONDS):
        try:
            if accepts_changes():
                return
        except (OperationalError, InterfaceError):
            connection.close()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
