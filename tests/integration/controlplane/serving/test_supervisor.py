"""The parent of the web workers: replaced workers, orphans, and errors that say what to do."""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from controlplane.serving import __main__ as serving
from tests.integration.controlplane.serving.test_hung_workers import Served
from tests.support.waiting import until


@pytest.fixture
def served(tmp_path):
    running = Served(tmp_path)
    try:
        running.wait(seconds=30)
        yield running
    finally:
        if running.process.poll() is None:
            os.killpg(running.process.pid, signal.SIGKILL)
        running.process.wait()


def test_a_worker_that_is_killed_is_replaced(served):
    killed = served.wait(seconds=5)

    os.kill(killed, signal.SIGKILL)

    assert served.wait(seconds=20, other_than=killed) != killed
    assert f"Web worker {killed} ended (-9) and is replaced." in served.log.read_text()


def test_workers_stop_by_themselves_when_their_parent_is_killed(served):
    worker = served.wait(seconds=5)

    served.process.kill()
    served.process.wait()

    until(lambda: has_ended(worker), 60)
    # Nobody listens any more.
    with socket.socket() as caller:
        assert caller.connect_ex(("127.0.0.1", served.port)) != 0


def test_the_parent_has_one_thread(served):
    assert len(list(Path(f"/proc/{served.process.pid}/task").iterdir())) == 1


def has_ended(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.fixture
def occupied():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield str(other.getsockname()[1])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--port", "occupied"], "Address already in use. Stop the process that uses it"),
        (["--tls-key", "key.pem"], "--tls-certificate and --tls-key are used together"),
        (["--port", "0", "no_such_module:application"], "cannot import no_such_module"),
        (["--port", "0", "tests.support.paths:none"], "has no application 'none'. Write the application as"),
        (["--port", "0", "tests.support.paths"], "has no application ''. Write the application as"),
    ],
)
def test_an_error_at_the_start_is_one_line_that_says_what_and_why(
    options, expected, occupied, monkeypatch, capsys
):
    words = [occupied if word == "occupied" else word for word in options]
    monkeypatch.setattr(sys, "argv", ["serving", *words])
    monkeypatch.setattr(serving, "WEB_HANG_SECONDS", 0)

    with pytest.raises(SystemExit) as ended:
        serving.main()

    assert ended.value.code == 2
    assert expected in capsys.readouterr().err.splitlines()[-1]
