"""/livez and /metrics of a relay. It lives while it runs: when one of its loops ends, so does the process."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import generate_latest
from prometheus_client.registry import REGISTRY


class _Probes(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = _body(self.path)
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *args: object) -> None:
        """Log nothing: probes come every few seconds."""


def _body(path: str) -> bytes | None:
    if path == "/livez":
        return b"ok\n"
    return generate_latest(REGISTRY) if path == "/metrics" else None


def serve_probes(port: int) -> ThreadingHTTPServer:
    """Serve until shut down."""
    server = ThreadingHTTPServer(("", port), _Probes)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="probes", daemon=True).start()
    return server
