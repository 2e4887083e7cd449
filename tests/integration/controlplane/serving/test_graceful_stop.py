"""SIGTERM amid traffic: what was committed was answered, and connections and streams end in good order."""

from __future__ import annotations

import json
import signal
import socket
import threading
from datetime import datetime

import pytest

from controlplane.events import log
from registry.agents.models import Lease
from tests.conftest import as_application
from tests.support.api_client import AGENT, Api, token_for
from tests.support.launcher import Web

CONNECTIONS = 20
# Of each connection before the stop: by then it knows its agent and uses the fast path.
ANSWERS_BEFORE = 5
# Less than the 18 s (of `--stop-seconds` 20) after which a worker gives up on connections that do not end.
STOP_SECONDS = 15
BODY = b'{"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 1}'


class Beating(threading.Thread):
    """One connection: heartbeats one after the other until the server closes it."""

    def __init__(self, port: int, token: str, agent_id: str) -> None:
        super().__init__(daemon=True)
        self.agent_id, self.answers, self.has_beaten = agent_id, [], threading.Event()
        head = f"PUT /api/v1/agents/{agent_id}/heartbeat HTTP/1.1\r\nHost: localhost\r\n"
        head += f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        self.request = head.encode() + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
        self.connection = socket.create_connection(("127.0.0.1", port), 30)
        # Ended by anything but the server: the test fails.
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            while self._beat():
                if len(self.answers) == ANSWERS_BEFORE:
                    self.has_beaten.set()
        except (BrokenPipeError, ConnectionResetError):
            pass  # closed before the request arrived
        except Exception as error:
            self.error = error

    def _beat(self) -> bool:
        """Return False once the server has closed the connection."""
        self.connection.sendall(self.request)
        received = self.connection.recv(65536)
        if not received:
            return False
        head, _, body = received.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), received
        length = next(int(line[16:]) for line in head.split(b"\r\n") if line.startswith(b"content-length: "))
        while len(body) < length:
            more = self.connection.recv(65536)
            assert more, "an answer is cut off"
            body += more
        self.answers.append(json.loads(body))
        return True


@pytest.fixture
def web(live, tmp_path):
    running = Web(as_application(live.environment, "web"), tmp_path, workers=1)
    running.wait_until_ready()
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.kill()


def registered(token: str, number: int) -> str:
    name = f"a{number}"
    body = {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}"}
    return Api(token).post("agents", body).json()["agent_id"]


def streamed(port: int, token: str) -> socket.socket:
    """An open stream of events that do not happen, whose head has arrived."""
    connection = socket.create_connection(("127.0.0.1", port), 30)
    head = "GET /api/v1/events?type=project.created HTTP/1.1\r\nHost: localhost\r\n"
    head += f"Authorization: Bearer {token}\r\n"
    connection.sendall(head.encode() + b"Accept: text/event-stream\r\n\r\n")
    assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
    return connection


def read_to_the_end(connection: socket.socket) -> bytes:
    with connection:
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_a_stop_answers_every_heartbeat_that_is_committed_and_ends_connections(web):
    token = token_for("agent")
    stream = streamed(web.port, token_for("viewer"))
    beating = [Beating(web.port, token, registered(token, number)) for number in range(CONNECTIONS)]
    idle = socket.create_connection(("127.0.0.1", web.port), 30)
    for each in beating:
        each.start()
    for each in beating:
        assert each.has_beaten.wait(30)

    web.process.send_signal(signal.SIGTERM)

    assert web.process.wait(STOP_SECONDS) == 0
    for each in beating:
        each.join(10)
        assert not each.is_alive()
        assert each.error is None
    answered = {each.agent_id: time_of(each.answers[-1]) for each in beating}
    committed = {str(lease.agent_id): lease.renewed_at for lease in Lease.objects.all()}
    assert answered == committed
    assert read_to_the_end(idle) == b""
    assert b"id: %d\nevent: bookmark\n" % log.last_number() in read_to_the_end(stream)


def time_of(answer) -> datetime:
    return datetime.fromisoformat(answer["last_heartbeat"])
