"""The relay's own identity at a cloud. A look-up can hang, so that it runs in a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
_log = logging.getLogger(__name__)
# A sender waits so long for a look-up, with time left for the request in a relay's lease.
WAIT_SECONDS = 10.0
# After so long, another look-up begins beside one that hangs.
ABANDONED_SECONDS = 120.0


class IdentityUnavailable(Exception):
    """There are no credentials at the moment. The text is for people."""


@dataclass(frozen=True, slots=True)
class Credentials(Generic[T]):
    """What a look-up returns. fresh_seconds: for so long, no other look-up is needed."""

    value: T
    fresh_seconds: float


class AmbientIdentity(Generic[T]):
    """The identity of this process at one cloud, which all sinks share.

    cloud: its name, for people. look_up: returns credentials, however long that takes.
    """

    def __init__(self, cloud: str, look_up: Callable[[], Credentials[T]]) -> None:
        self._cloud, self._look_up = cloud, look_up
        self._lock = threading.Lock()
        self._latest: _LookUp[T] | None = None

    def current(self) -> T:
        """Return credentials, if necessary after a limited wait. Raises IdentityUnavailable."""
        with self._lock:
            if self._latest is None or self._latest.is_over():
                self._latest = _LookUp(self._cloud, self._look_up)
            latest = self._latest
        if not latest.ended.wait(WAIT_SECONDS):
            raise IdentityUnavailable(f"The relay's credentials of {self._cloud} are still looked up.")
        if latest.credentials is None:
            raise IdentityUnavailable(latest.error)
        return latest.credentials.value

    def forget(self) -> None:
        """Drop credentials that the cloud did not accept, so that the next use looks them up."""
        with self._lock:
            if self._latest is not None and self._latest.ended.is_set():
                self._latest = None


class _LookUp(Generic[T]):
    """One look-up in a thread. ended: credentials or error are there."""

    def __init__(self, cloud: str, look_up: Callable[[], Credentials[T]]) -> None:
        self.ended = threading.Event()
        self.credentials: Credentials[T] | None = None
        self.error = ""
        self._changed_at = time.monotonic()
        arguments = (cloud, look_up)
        threading.Thread(target=self._run, args=arguments, name="cloud-identity", daemon=True).start()

    def is_over(self) -> bool:
        """True if another look-up has to follow."""
        age = time.monotonic() - self._changed_at
        if not self.ended.is_set():
            return age > ABANDONED_SECONDS
        return self.credentials is None or age > self.credentials.fresh_seconds

    def _run(self, cloud: str, look_up: Callable[[], Credentials[T]]) -> None:
        try:
            self.credentials = look_up()
        except IdentityUnavailable as error:
            self.error = str(error)
        except Exception as error:
            # Only its kind: the text can have the output of a program that prints credentials.
            self.error = f"The relay's credentials of {cloud} cannot be read ({type(error).__name__})."
            _log.warning("cloud_identity_unavailable", extra={"cloud": cloud, "error": type(error).__name__})
        self._changed_at = time.monotonic()
        self.ended.set()
