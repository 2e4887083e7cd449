"""The watch over web workers: who is stuck in a call is ended, who is only busy is left alone."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from controlplane.local.programs import free_port
from tests.support.paths import ROOT
from tests.support.waiting import until

APPLICATION = """
import asyncio, os, re, threading, time
from controlplane.serving.worker_signals import send_pulses

def spin(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        sum(range(1000))

async def application(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        application.pulses = asyncio.create_task(send_pulses())
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    if scope["path"] == "/hang":
        re.match("^(a+)+$", "a" * 60 + "!")
    if scope["path"] == "/busy":
        for _ in range(4):
            threading.Thread(target=spin, args=(3,)).start()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(os.getpid()).encode()})
"""


class Served:
    """One worker of an application that can be made to hang."""

    def __init__(self, folder: Path) -> None:
        (folder / "hanging_app.py").write_text(APPLICATION)
        self.port, self.log = free_port(), folder / "web.log"
        options = ("--workers", "1", "--stop-seconds", "3", "--port", str(self.port))
        self.process = subprocess.Popen(
            (sys.executable, "-m", "controlplane.serving", *options, "hanging_app:application"),
            env={**os.environ, "PYTHONPATH": f"{ROOT}:{folder}", "WEB_HANG_SECONDS": "2"},
            stdout=self.log.open("wb"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def ask(self, path: str, *, timeout: float = 2) -> int:
        """Process id of the worker that answered."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request("GET", path)
            return int(connection.getresponse().read())
        finally:
            connection.close()

    def wait(self, *, seconds: float, other_than: int = 0) -> int:
        def another_worker() -> int:
            with suppress(OSError, http.client.HTTPException):
                if (worker := self.ask("/")) != other_than:
                    return worker
            return 0

        return until(another_worker, seconds, self.log.read_text, pause=0.1)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    running = Served(tmp_path)
    try:
        running.wait(seconds=30)
        yield running
    finally:
        if running.process.poll() is None:
            os.killpg(running.process.pid, signal.SIGKILL)
        running.process.wait()


def test_a_worker_stuck_in_a_call_is_replaced_and_the_log_says_where(served: Served) -> None:
    stuck = served.wait(seconds=5)
    with pytest.raises((OSError, http.client.HTTPException)):
        served.ask("/hang", timeout=0.5)

    served.wait(seconds=20, other_than=stuck)

    log = served.log.read_text()
    assert f"Web worker {stuck} did not respond for 2 s and was stopped." in log
    assert "hanging_app.py" in log, "the stack of the call"


def test_a_worker_that_is_only_busy_is_left_alone(served: Served) -> None:
    worker = served.ask("/busy", timeout=10)

    time.sleep(3)

    assert served.wait(seconds=5) == worker
    assert "did not respond" not in served.log.read_text()


def test_a_stop_is_handed_on_and_ends_in_good_order(served: Served) -> None:
    served.process.send_signal(signal.SIGTERM)

    assert served.process.wait(60) == 0
