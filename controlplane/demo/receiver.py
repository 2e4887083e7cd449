"""The demo's own receiver of webhooks, on the loopback address. One of its paths fails now and then."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_FAILS_EVERY = 4


class _Handler(BaseHTTPRequestHandler):
    server: _Receiver
    timeout = 10

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        is_refused = self.path.endswith("/unreliable") and self.server.counts_to_failure()
        body = b'{"error": "The queue of the chat is full."}' if is_refused else b"{}"
        self.send_response(503 if is_refused else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Nothing: the deliveries are in the console."""


class _Receiver(ThreadingHTTPServer):
    daemon_threads = True
    _received = 0

    def counts_to_failure(self) -> bool:
        self._received += 1
        return self._received % _FAILS_EVERY == 0


def start_receiver(port: int) -> None:
    """Receive webhooks for as long as this process runs. Raises OSError if the port is taken."""
    server = _Receiver(("127.0.0.1", port), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True, name="receiver").start()
