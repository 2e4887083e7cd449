"""Answers the kubelet: alive while the loop turns, ready once it publishes, or waits for its turn."""

from __future__ import annotations

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# A loop that stood still for so long is stuck: one round waits at most for a lock, and for Postgres.
_STUCK_AFTER = 120.0


class Pulse:
    """What the loop says of itself."""

    def __init__(self) -> None:
        self.beat_at = time.monotonic()
        self.is_ready = False

    def beat(self, *, is_ready: bool) -> None:
        self.beat_at, self.is_ready = time.monotonic(), is_ready

    @property
    def is_alive(self) -> bool:
        return time.monotonic() - self.beat_at < _STUCK_AFTER


def serve(pulse: Pulse, port: int) -> ThreadingHTTPServer:
    """Answer /livez and /readyz until it is shut down. Port 0 takes any."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answers = {"/livez": pulse.is_alive, "/readyz": pulse.is_alive and pulse.is_ready}
            answer = answers.get(self.path)
            body = b"ok\n" if answer else b"no\n"
            self.send_response(404 if answer is None else 200 if answer else 503)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """The kubelet asks every few seconds."""

    # The kubelet asks at the pod's address.
    server = ThreadingHTTPServer(("", port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="probes", daemon=True).start()
    return server
