"""Health probes for the kubelet: live while the loop runs, ready once it publishes or stands by."""

from __future__ import annotations

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# A loop that does not step for this long is stuck: a step waits only for a lock and for Postgres.
_STUCK_AFTER = 120.0


class WatcherHealth:
    """The health that the watcher's loop reports."""

    def __init__(self) -> None:
        self.last_step_at = time.monotonic()
        self.is_ready = False

    def record_step(self, *, is_ready: bool) -> None:
        self.last_step_at, self.is_ready = time.monotonic(), is_ready

    @property
    def is_alive(self) -> bool:
        return time.monotonic() - self.last_step_at < _STUCK_AFTER


def serve_probes(health: WatcherHealth, port: int) -> ThreadingHTTPServer:
    """Serve /livez and /readyz until shut down. Port 0 selects a free port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answers = {"/livez": health.is_alive, "/readyz": health.is_alive and health.is_ready}
            answer = answers.get(self.path)
            body = b"ok\n" if answer else b"no\n"
            self.send_response(404 if answer is None else 200 if answer else 503)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Log nothing: the kubelet probes every few seconds."""

    # The kubelet connects to the pod's address.
    server = ThreadingHTTPServer(("", port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="probes", daemon=True).start()
    return server
