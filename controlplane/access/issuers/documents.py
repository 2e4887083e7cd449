"""Documents that issuers publish, fetched through the guard for outgoing requests and cached per process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import structlog

from controlplane import outgoing
from controlplane.errors import ControlplaneError, IssuerUnavailable
from controlplane.formats.strict_json import parse_json

FRESH_SECONDS = 3600.0
USABLE_SECONDS = 24 * 3600.0
# Between two fetches of a known document, whatever tokens arrive; and of one that was never read.
REFETCH_SECONDS = 60.0
RETRY_SECONDS = 5.0
_FETCH_SECONDS = 3.0
_MAX_BYTES = 256 * 1024
_MAX_DEPTH = 16
_MAX_DOCUMENTS = 1000
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Location:
    """Where a document is. any_address: the operator configured the host, so it may be private."""

    url: str
    any_address: bool = False


@dataclass(slots=True)
class _Entry:
    """A cached document. Its lock is held while it is fetched."""

    document: Any = None
    fetched_at: float | None = None
    tried_at: float | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def age(self, now: float) -> float:
        return float("inf") if self.fetched_at is None else now - self.fetched_at

    def may_fetch(self, now: float) -> bool:
        pause = RETRY_SECONDS if self.fetched_at is None else REFETCH_SECONDS
        return self.tried_at is None or now - self.tried_at >= pause


def is_acceptable(url: str) -> bool:
    """True for https, and for http on this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)


def read_json(location: Location) -> Any:
    """Fetch a document. Raises ControlplaneError, ValueError."""
    if not is_acceptable(location.url):
        raise ValueError("the URL must begin with https://")
    body = outgoing.fetch(
        location.url,
        headers={"Accept": "application/json"},
        max_bytes=_MAX_BYTES,
        seconds=_FETCH_SECONDS,
        any_address=location.any_address,
    )
    return parse_json(body, max_depth=_MAX_DEPTH)


class DocumentCache:
    """Documents by location. One that cannot be fetched again stays usable for a day."""

    def __init__(
        self,
        read: Callable[[Location], Any] = read_json,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read, self._clock = read, clock
        self._entries: dict[Location, _Entry] = {}

    def get(self, location: Location, parse: Callable[[Any], Any], *, refresh: bool = False) -> Any:
        """Return the parsed document. Raises IssuerUnavailable.

        parse: raises ValueError for an invalid document. refresh: what the caller needs is missing in the
        cached one, so fetch it again unless that was done within a minute.
        """
        entry = self._entry(location)
        if entry.age(self._clock()) >= FRESH_SECONDS or refresh:
            self._update(location, entry, parse)
        if entry.age(self._clock()) >= USABLE_SECONDS:
            raise IssuerUnavailable(
                f"The server cannot read {location.url[:200]}, so tokens of this issuer cannot be checked."
                " Try again in a minute.",
                retry_after=int(REFETCH_SECONDS),
            )
        return entry.document

    def clear(self) -> None:
        self._entries = {}

    def _entry(self, location: Location) -> _Entry:
        if len(self._entries) >= _MAX_DOCUMENTS:
            self.clear()
        return self._entries.setdefault(location, _Entry())

    def _update(self, location: Location, entry: _Entry, parse: Callable[[Any], Any]) -> None:
        """Fetch the document, unless another thread does. Only threads that have none wait for that."""
        is_usable = entry.age(self._clock()) < USABLE_SECONDS
        if not entry.lock.acquire(blocking=not is_usable):
            return
        try:
            if entry.may_fetch(self._clock()):
                self._fetch(location, entry, parse)
        finally:
            entry.lock.release()

    def _fetch(self, location: Location, entry: _Entry, parse: Callable[[Any], Any]) -> None:
        entry.tried_at = self._clock()
        try:
            entry.document = parse(self._read(location))
        except (ControlplaneError, ValueError) as error:
            log.warning("issuer.document_unreadable", url=location.url[:200], error=str(error)[:300])
        else:
            entry.fetched_at = self._clock()


DOCUMENTS = DocumentCache()
