"""A receiver of webhooks on a loopback port: it records what arrives, and answers as a test wants."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True)
class Received:
    """A request that arrived."""

    path: str
    headers: dict[str, str]
    body: bytes
    at: float

    @property
    def event(self) -> Any:
        return json.loads(self.body)

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


@dataclass(frozen=True, slots=True)
class Reply:
    """How to answer. drip: seconds between single bytes of the body. hang: seconds before anything."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b"ok"
    hang: float = 0
    drip: float = 0


class Receiver:
    """url: where it listens. reply: how it answers, by the request; replace it to change that."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/hook"
        self.received: list[Received] = []
        self.reply: Callable[[Received], Reply] = lambda request: Reply()
        self.stop = threading.Event()

    @property
    def ids(self) -> list[str]:
        return [one.id for one in self.received]


class _Server(ThreadingHTTPServer):
    # With five, the usual number, the kernel drops connections of a busy relay.
    request_queue_size = 1024


@contextmanager
def running_receiver() -> Iterator[Receiver]:
    receiver = Receiver(0)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"] or 0)
            body = self.rfile.read(length)
            if len(body) < length:
                # Of a sender that was killed meanwhile.
                return
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Received(self.path, headers, body, time.time())
            receiver.received.append(request)
            self._answer(receiver.reply(request))

        do_GET = do_PUT = do_POST

        def _answer(self, reply: Reply) -> None:
            receiver.stop.wait(reply.hang)
            try:
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                for byte in reply.body if reply.drip else ():
                    if receiver.stop.wait(reply.drip):
                        break
                    self.wfile.write(bytes([byte]))
                if not reply.drip:
                    self.wfile.write(reply.body)
            except OSError:
                self.close_connection = True

        def log_message(self, *arguments: object) -> None:
            pass

    with _Server(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        receiver.url = f"http://127.0.0.1:{server.server_port}/hook"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            receiver.stop.set()
            server.shutdown()
            thread.join(10)
