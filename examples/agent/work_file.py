"""What the agent must not forget when it stops: in one JSON file, replaced as a whole."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

_KEPT = ("accepted", "held", "resources", "cancelled", "outgoing")


class WorkFile:
    """The agent's memory. Change it only within `changes`.

    accepted: requests that are being handled, by key. held: requests that wait for a healthy provider.
    resources: what was created, by id. cancelled: creations to drop. outgoing: events that the control plane
    has not confirmed, in order.
    """

    def __init__(self, path: str | None) -> None:
        self._path = Path(path) if path else None
        self._lock = threading.RLock()
        self.accepted: dict[str, dict[str, Any]] = {}
        self.held: list[dict[str, Any]] = []
        self.resources: dict[str, dict[str, Any]] = {}
        self.cancelled: list[str] = []
        self.outgoing: list[dict[str, Any]] = []
        if self._path and self._path.exists():
            vars(self).update(json.loads(self._path.read_text()))

    @contextmanager
    def changes(self) -> Iterator[WorkFile]:
        """Lock the memory, and write it at the end: all changes or none, in memory as on the disk.

        Otherwise a request that could not be written would count as known, and never be handled.
        """
        with self._lock:
            before = {name: deepcopy(getattr(self, name)) for name in _KEPT}
            try:
                yield self
                self._write()
            except BaseException:
                vars(self).update(before)
                raise

    def _write(self) -> None:
        if self._path is None:
            return
        new = self._path.with_suffix(".new")
        with new.open("w") as file:
            json.dump({name: getattr(self, name) for name in _KEPT}, file)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._path)
