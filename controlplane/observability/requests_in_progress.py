"""Requests in progress, and the slow ones that have ended, of all web processes in this process' group."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.http import HttpRequest
from django.utils.functional import LazyObject, empty

from controlplane.observability.process_group import group_folder, is_running

# A request that took longer is kept in mind after its end.
SLOW_SECONDS = 1.0
_MOST_SLOW = 50
_PAUSE_SECONDS = 1.0
_NAME = "requests_{}.json"


@dataclass(frozen=True, slots=True)
class ObservedRequest:
    """status: None while the request is in progress. The path has no query, which may contain secrets."""

    process: int
    request_id: str
    method: str
    path: str
    principal: str
    started_at: str
    seconds: float
    status: int | None = None


class RequestsInProgress:
    """The requests of this process. Others of the group see them in a file, at most a second late."""

    def __init__(self) -> None:
        self._running: dict[int, tuple[HttpRequest, float]] = {}
        self._slow: deque[ObservedRequest] = deque(maxlen=_MOST_SLOW)
        self._process = 0

    def begin(self, request: HttpRequest) -> None:
        self._running[id(request)] = (request, time.time())
        # Threads do not survive a fork.
        if self._process != os.getpid():
            self._share()

    def end(self, request: HttpRequest, status: int) -> None:
        entry = self._running.pop(id(request), None)
        if entry and time.time() - entry[1] >= SLOW_SECONDS:
            self._slow.append(_observed(request, entry[1], time.time(), status))

    def observed(self) -> list[ObservedRequest]:
        """Return requests in progress and slow ones."""
        now = time.time()
        running = [_observed(request, began_at, now) for request, began_at in [*self._running.values()]]
        return [*running, *self._slow]

    def of_group(self) -> list[ObservedRequest]:
        """Return those of all processes: in progress, the longest first, then slow ones, newest first."""
        everything = [*self.observed(), *_of_others()]
        running = [request for request in everything if request.status is None]
        ended = [request for request in everything if request.status is not None]
        return [
            *sorted(running, key=lambda request: -request.seconds),
            *sorted(ended, key=lambda request: request.started_at, reverse=True),
        ]

    def _share(self) -> None:
        self._process = os.getpid()
        if folder := group_folder():
            arguments = (self, folder / _NAME.format(self._process))
            threading.Thread(target=_write_often, args=arguments, daemon=True, name="requests").start()


def _write_often(requests: RequestsInProgress, file: Path) -> None:
    """Write the file while there is a request that an operator might look for."""
    text = ""
    while True:
        time.sleep(_PAUSE_SECONDS)
        worth_showing = [each for each in requests.observed() if each.seconds >= SLOW_SECONDS]
        new_text = json.dumps([asdict(each) for each in worth_showing])
        if new_text != text and (worth_showing or text):
            text = new_text
            _replace(file, text)


def _replace(file: Path, text: str) -> None:
    try:
        part = file.with_suffix(".part")
        part.write_text(text)
        part.replace(file)
    except OSError:
        # A full disk must not end the thread: the next second may be better.
        return


def _of_others() -> Iterator[ObservedRequest]:
    folder = group_folder()
    for file in folder.glob(_NAME.format("*")) if folder else ():
        process = int(file.stem.rpartition("_")[2])
        if not is_running(process):
            file.unlink(missing_ok=True)
        elif process != os.getpid():
            yield from _read(file)


def _read(file: Path) -> list[ObservedRequest]:
    try:
        return [ObservedRequest(**each) for each in json.loads(file.read_text())]
    except (OSError, ValueError, TypeError):
        return []


def _principal_of(request: HttpRequest) -> str:
    """Return the name that DRF or the session has found.

    Nobody is looked up here: that would read the session in another thread, and the answer would say
    `Vary: Cookie`.
    """
    user = vars(request).get("user")
    is_unknown = isinstance(user, LazyObject) and user._wrapped is empty
    return "" if is_unknown else str(getattr(user, "name", ""))


def _observed(
    request: HttpRequest, began_at: float, now: float, status: int | None = None
) -> ObservedRequest:
    return ObservedRequest(
        os.getpid(),
        request.META.get("HTTP_X_REQUEST_ID", ""),
        request.method or "",
        request.path,
        _principal_of(request),
        datetime.fromtimestamp(began_at, UTC).isoformat(),
        round(now - began_at, 3),
        status,
    )


IN_PROGRESS = RequestsInProgress()
