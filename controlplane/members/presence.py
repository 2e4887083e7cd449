"""Presence: this process tells the database every ten seconds that it runs, and learns whether it may.

It also exchanges timelines of Postgres with other processes.

One daemon thread does so. Without Postgres it goes on trying, and it delays nobody who stops the process.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.db import DatabaseError, InterfaceError

from controlplane import __version__
from controlplane.members.statements import (
    Connect,
    ThisProcess,
    django_cursor,
    forget,
    forget_dead,
    note_alive,
)
from controlplane.members.timelines import exchange
from controlplane.members.versions import is_too_old

_log = logging.getLogger(__name__)
EVERY_SECONDS = 10.0
_TIDY_SECONDS = 3600.0
# For the last statement of a process that stops.
_GOODBYE_SECONDS = 1.0
_UNREACHABLE = (DatabaseError, InterfaceError, psycopg.Error, OSError)


class Presence:
    """The row of one process. connect: how to reach the database; by default as Django does."""

    def __init__(
        self,
        process: str,
        instance: str = "",
        *,
        connect: Connect = django_cursor,
        every_seconds: float = EVERY_SECONDS,
    ) -> None:
        self._me = ThisProcess(process, instance)
        self._connect = connect
        self._every = every_seconds
        self._began = time.monotonic()
        self._tidied_at: float | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="presence", daemon=True)
        self.is_reachable = False

    def start(self) -> None:
        """Start the thread: after a fork, not before it."""
        # Before the process asks a server anything.
        exchange()
        self._thread.start()

    def stop(self) -> None:
        """Remove the row, and wait a second at most for it."""
        self._stop.set()
        self._thread.join(_GOODBYE_SECONDS)

    def beat(self) -> None:
        """Write the row once. Errors of the database are logged once until it answers again."""
        try:
            with self._connect() as cursor:
                oldest = note_alive(cursor, self._me, time.monotonic() - self._began)
                if self._tidied_at is None or time.monotonic() - self._tidied_at > _TIDY_SECONDS:
                    forget_dead(cursor)
                    self._tidied_at = time.monotonic()
        except _UNREACHABLE as error:
            if self.is_reachable:
                _log.warning("presence_waits", extra={"error": type(error).__name__})
            self.is_reachable = False
        else:
            self.is_reachable = True
            _note_oldest(oldest)

    def _run(self) -> None:
        while not self._stop.is_set():
            self.beat()
            exchange()
            # Not all processes of a machine that starts at once write at once.
            self._stop.wait(self._every * random.uniform(0.9, 1.1))  # noqa: S311  (no secret)
        if self.is_reachable:
            self._say_goodbye()

    def _say_goodbye(self) -> None:
        try:
            with self._connect() as cursor:
                forget(cursor, self._me)
        except _UNREACHABLE:
            _log.info("presence_left_its_row")


@contextmanager
def present(process: str, instance: str = "", *, connect: Connect = django_cursor) -> Iterator[Presence]:
    """Be a member of the installation within the context."""
    presence = Presence(process, instance, connect=connect)
    presence.start()
    try:
        yield presence
    finally:
        presence.stop()


def is_this_too_old() -> bool:
    """True if this process is older than the schema allows, as of the last answer of the database."""
    return _too_old.is_set()


def _note_oldest(oldest: str) -> None:
    if not is_too_old(__version__, oldest):
        _too_old.clear()
    elif not _too_old.is_set():
        _too_old.set()
        _log.error("version_too_old", extra={"version": __version__, "oldest": oldest})


_too_old = threading.Event()
