"""/livez and /metrics of processes that serve nothing else by HTTP."""

from __future__ import annotations

import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from django.conf import settings
from django.core.management.base import CommandError
from prometheus_client import Gauge

from controlplane.observability.metrics import Exposition, process_exposition


class _Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        page = _page(self.path, self.headers.get("Accept", ""))
        self.send_response(404 if page is None else 200)
        self.send_header("Content-Type", page.content_type if page else _TEXT)
        self.send_header("Content-Length", str(len(page.text) if page else 0))
        self.end_headers()
        self.wfile.write(page.text if page else b"")

    def log_message(self, *args: object) -> None:
        """Log nothing: probes come every few seconds."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: str, port: int) -> None:
        if ":" in address:
            self.address_family = socket.AF_INET6
        super().__init__((address, port), _Pages)


_STARTED_AT = Gauge(
    "cp_process_start_time_seconds", "When a process has started.", ["process"], multiprocess_mode="livemin"
)
_TEXT = "text/plain; charset=utf-8"


def _page(path: str, accept: str) -> Exposition | None:
    if path == "/livez":
        return Exposition(b"ok\n", _TEXT)
    return process_exposition(accept) if path == "/metrics" else None


def serve_pages(port: int, address: str = "") -> ThreadingHTTPServer:
    """Serve until shut down. Raises OSError if the port is taken. address: empty for all; port: 0 for any."""
    server = _Server(address, port)
    threading.Thread(target=server.serve_forever, name="pages", daemon=True).start()
    return server


def serve_metrics(process: str) -> None:
    """Serve on METRICS_PORT until the process ends. Raises CommandError if the port is taken.

    process: its name, by which an alert misses it.
    """
    _STARTED_AT.labels(process).set_to_current_time()
    if not settings.METRICS_PORT:
        return
    try:
        serve_pages(settings.METRICS_PORT, settings.METRICS_ADDRESS)
    except OSError as error:
        where = f"{settings.METRICS_ADDRESS}:{settings.METRICS_PORT}"
        next_step = "Set METRICS_PORT to a free port, one for each process."
        raise CommandError(f"Cannot serve metrics on {where}: {error.strerror}. {next_step}") from error
