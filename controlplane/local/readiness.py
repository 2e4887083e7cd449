"""Is it up yet? Asked again and again, of whoever has just been started."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Callable

from controlplane.local.errors import CannotStart
from controlplane.local.programs import Running, tail

START_SECONDS = 60.0
_LOG_LINES = 20


def wait_until(
    ready: Callable[[], bool],
    running: Running,
    *,
    pause: Callable[[float], None],
    seconds: float = START_SECONDS,
) -> None:
    """Return once it is ready. Raises CannotStart, with the end of its log, if it ends or takes too long."""
    deadline = time.monotonic() + seconds
    while not ready():
        if not running.alive():
            raise CannotStart(_complaint(running, f"ended (exit {running.process.returncode})"))
        if time.monotonic() > deadline:
            raise CannotStart(_complaint(running, f"was not ready after {seconds:g} s"))
        pause(0.03)


def web_answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310  (our own address)
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def worker_answers(broker: str, worker: str) -> bool:
    """True if the Celery worker of that name takes orders from this broker."""
    from celery import Celery

    app = Celery(broker=broker, set_as_current=False)
    try:
        return bool(app.control.ping(timeout=0.3, limit=1, destination=[worker]))
    except Exception:  # the broker's client raises its own kinds; all mean "not yet"
        return False
    finally:
        app.close()


def _complaint(running: Running, what: str) -> str:
    log = running.program.log
    return f"{running.name} {what}. Its log, {log}, ends with:\n{tail(log, _LOG_LINES)}"
