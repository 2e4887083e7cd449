"""Relays as processes of their own, for tests that kill them. Forked: to start Django takes seconds."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import traceback
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection

from tests.support.waiting import until

# Closed by the child, the connection would end for the test too.
_inherited: list[object] = []


class RelayProcess:
    """`manage.py relay` in a process with these settings."""

    def __init__(self, log: Path, *, only: str = "outbox", **changed: str) -> None:
        self.log = log
        self.log.touch()
        self.code: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            os._exit(_run(log, only, changed))

    @property
    def output(self) -> str:
        return self.log.read_text()

    def wait(self, seconds: float = 20) -> int:
        """Return its exit code, or the negative number of the signal that ended it."""
        until(lambda: not self.alive(), seconds, lambda: self.output)
        assert self.code is not None
        return self.code

    def alive(self) -> bool:
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code is None

    def stop(self) -> int:
        """Ask it to end; return its exit code."""
        os.kill(self.pid, signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        if self.alive():
            os.kill(self.pid, signal.SIGKILL)
            self.wait()


def _run(log: Path, only: str, changed: dict[str, str]) -> int:
    _inherited.append(connection.connection)
    connection.connection = None
    handler = logging.FileHandler(log)
    logging.getLogger().handlers = [handler]
    for name, value in changed.items():
        setattr(settings, name, value)
    try:
        with log.open("a") as output:
            call_command("relay", only=only, stdout=output)
    except CommandError as error:
        handler.stream.write(f"{error}\n")
        handler.flush()
        return 1
    except BaseException:
        handler.stream.write(traceback.format_exc())
        handler.flush()
        return 2
    return 0


@contextlib.contextmanager
def relays(number: int, folder: Path, **changed: str) -> Iterator[list[RelayProcess]]:
    running = [RelayProcess(folder / f"relay-{place}.log", **changed) for place in range(number)]
    try:
        yield running
    finally:
        for one in running:
            one.kill()
