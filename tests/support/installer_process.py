"""An installer as a process of its own, for tests that kill it. Forked: to start Django takes seconds."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection

from registry.management.commands import plugin_installer
from tests.support.waiting import until

# Closed by the child, the connection would end for the test too.
_inherited: list[object] = []


class InstallerProcess:
    """`manage.py plugin_installer` in a process with these settings."""

    def __init__(self, log: Path, *, node: str = "node-a", **changed: str) -> None:
        self.log = log
        self.log.touch()
        self.code: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            os._exit(_run(log, node, changed))

    def wait(self, seconds: float = 30) -> int:
        """Return its exit code, or the negative number of the signal that ended it."""
        until(lambda: not self.is_alive(), seconds, self.log.read_text)
        assert self.code is not None
        return self.code

    def is_alive(self) -> bool:
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code is None

    def stop(self) -> int:
        """Ask it to end; return its exit code."""
        os.kill(self.pid, signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        if self.is_alive():
            os.kill(self.pid, signal.SIGKILL)
            self.wait()


@contextlib.contextmanager
def running_installer(log: Path, **changed: str) -> Iterator[InstallerProcess]:
    process = InstallerProcess(log, **changed)
    try:
        yield process
    finally:
        process.kill()


def _run(log: Path, node: str, changed: dict[str, str]) -> int:
    _inherited.append(connection.connection)
    connection.connection = None
    handler = logging.FileHandler(log)
    logging.getLogger().handlers = [handler]
    for name, value in changed.items():
        setattr(settings, name, value)
    plugin_installer._PAUSE_SECONDS = 0.05
    try:
        with log.open("a") as output:
            call_command("plugin_installer", node=node, stdout=output)
        # As at the end of a program: Python waits for threads of pools.
        threading._shutdown()  # type: ignore[attr-defined]
    except BaseException:
        logging.getLogger().error(traceback.format_exc())
        return 2
    return 0
