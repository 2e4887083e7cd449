"""A file that the worker touches while its loop runs, for probes of containers.

`celery inspect ping` starts Celery, two seconds of processor time, and sends messages through the broker.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from celery import bootsteps
from django.conf import settings

_SECONDS = 10.0


class AliveFile(bootsteps.StartStopStep):
    """A step of Celery's worker. Its timer stands still when the worker's loop does."""

    # Celery's name for what must have started before.
    requires = ("celery.worker.components:Timer",)

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self._path = Path(settings.WORKER_ALIVE_FILE)
        self._timer: Any = None

    def include_if(self, parent: Any) -> bool:
        return bool(settings.WORKER_ALIVE_FILE)

    def start(self, parent: Any) -> None:
        self._path.touch()
        self._timer = parent.timer.call_repeatedly(_SECONDS, self._path.touch)

    def stop(self, parent: Any) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._path.unlink(missing_ok=True)
