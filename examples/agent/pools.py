"""Leases of pools for work that needs a limited resource.

    with pool(control_plane, "snowflake").lease("report-7", wait_seconds=300) as lease:
        ...  # give `lease.epoch` to the resource, and stop when `lease.lost` is set

A thread renews the lease. Should the control plane be away, the lease counts as lost when it would expire.
"""

from __future__ import annotations

import http.client
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from control_plane import Refused

if TYPE_CHECKING:
    from control_plane import ControlPlane

log = logging.getLogger("agent")
# Of one long poll.
_MOST_WAIT_SECONDS = 20
_AWAY = (OSError, http.client.HTTPException)
_TOO_MANY = 429


class NoUnits(Exception):
    """The pool had no free units in time."""


@dataclass(frozen=True)
class Lease:
    """Units of a pool. lost: set once they may belong to somebody else: stop the work then."""

    id: str
    epoch: int
    units: int
    lost: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Pool:
    control_plane: ControlPlane
    name: str

    @contextmanager
    def lease(
        self, token: str, *, scope: dict[str, str] | None = None, units: int = 1, wait_seconds: float = 0
    ) -> Iterator[Lease]:
        """Hold units while the block runs. token: names the work, so that a restart gets the same lease.

        Raises NoUnits, Refused, OSError.
        """
        granted = self._acquire({"token": token, "scope": scope or {}, "units": units}, wait_seconds)
        lease, done = Lease(granted["id"], granted["epoch"], granted["units"]), threading.Event()
        thread = threading.Thread(target=self._renew, args=(lease, granted, done), daemon=True)
        thread.start()
        try:
            yield lease
        finally:
            done.set()
            thread.join()
            # What cannot be released now expires by itself.
            with suppress(Refused, *_AWAY):
                self._call("DELETE", f"/{lease.id}?epoch={lease.epoch}")

    def _acquire(self, body: dict[str, Any], wait_seconds: float) -> dict[str, Any]:
        """Ask until the units are granted; a request that is repeated keeps its place in the queue."""
        until = time.monotonic() + wait_seconds
        while True:
            wait = max(0, min(_MOST_WAIT_SECONDS, int(until - time.monotonic())))
            try:
                answer = self._call("POST", "", {**body, "wait_seconds": wait}, timeout=wait + 10)
            except Refused as refused:
                if refused.status != _TOO_MANY:
                    raise
                raise NoUnits(str(refused)) from None
            if answer["state"] == "granted":
                return dict(answer)
            if time.monotonic() >= until:
                self._call("DELETE", f"/{answer['id']}")
                raise NoUnits(f"The pool {self.name} had no units within {wait_seconds} s.")

    def _renew(self, lease: Lease, granted: dict[str, Any], done: threading.Event) -> None:
        """Renew at a third of the lease, until `done`; set `lost` when it has ended or would have."""
        if not granted["expires_at"]:
            return
        expires_at = granted["expires_at"]
        seconds = _seconds_between(granted["granted_at"], expires_at)
        ends_at = time.monotonic() + seconds
        while not done.wait(min(seconds / 3, max(0.1, ends_at - time.monotonic()))):
            try:
                renewed = self._call("POST", f"/{lease.id}:renew", {"epoch": lease.epoch})
                # By the server's clock alone, which may differ from the agent's.
                ends_at += _seconds_between(expires_at, renewed["expires_at"])
                expires_at = renewed["expires_at"]
            except Refused as refused:
                log.warning("the lease of %s is lost: %s", self.name, refused)
                lease.lost.set()
                return
            except _AWAY as error:
                log.warning("cannot renew the lease of %s: %s", self.name, error)
            if time.monotonic() >= ends_at:
                lease.lost.set()
                return

    def _call(self, method: str, rest: str, body: Any = None, timeout: float = 10.0) -> Any:
        return self.control_plane.call(
            method, f"pools/{quote(self.name)}/leases{rest}", body, timeout=timeout
        )


def pool(control_plane: ControlPlane, name: str) -> Pool:
    return Pool(control_plane, name)


def _seconds_between(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
