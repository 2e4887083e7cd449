"""After SIGTERM the server answers on for a while, and says that it is not ready."""

from __future__ import annotations

import http.client
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import as_application
from tests.support.launcher import Web
from tests.support.waiting import until


@pytest.fixture
def web(live, tmp_path: Path) -> Iterator[Web]:
    environment = {**as_application(live.environment, "web"), "LEAVE_SECONDS": "4"}
    web = Web(environment, tmp_path, workers=1)
    try:
        web.wait_until_ready()
        yield web
    finally:
        if web.process.poll() is None:
            web.kill()


def ask(port: int, path: str) -> tuple[int, bytes]:
    """Ask on a connection of its own."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_readiness_ends_before_answers_do(web: Web) -> None:
    web.process.send_signal(signal.SIGTERM)

    until(lambda: ask(web.port, "/readyz") == (503, b"not ready: stopping\n"), 3, pause=0.1)
    assert ask(web.port, "/livez")[0] == 200
    assert ask(web.port, "/api/v1/me")[0] == 401
    assert web.process.wait(15) == 0


def test_a_second_signal_ends_the_time_to_leave(web: Web) -> None:
    web.process.send_signal(signal.SIGTERM)
    until(lambda: ask(web.port, "/readyz")[0] == 503, 3, pause=0.1)

    web.process.send_signal(signal.SIGTERM)

    # Sooner than the four seconds.
    assert web.process.wait(2.5) == 0
