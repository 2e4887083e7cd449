"""Where local agents report: `PUT /agents/{id}` with the body of a heartbeat; `GET /status` for probes."""

from __future__ import annotations

import http.server
import json
import time
import uuid
from http import HTTPStatus
from typing import Any

from reports import Reports

_MAX_BODY = 64 * 1024
# An agent that misses one report is not silent yet.
_REPORTS_PER_LIMIT = 3
# Of a connection on which nothing arrives.
_TIMEOUT = 60.0


class LocalServer(http.server.ThreadingHTTPServer):
    """address: bind it to loopback or to the agents' own network, because reports need no token."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], reports: Reports) -> None:
        super().__init__(address, _Handler)
        self.reports = reports


class _Handler(http.server.BaseHTTPRequestHandler):
    server: LocalServer
    protocol_version = "HTTP/1.1"
    timeout = _TIMEOUT

    def do_GET(self) -> None:
        if self.path != "/status":
            return self._answer(HTTPStatus.NOT_FOUND, {"detail": "Use GET /status."})
        return self._answer(HTTPStatus.OK, {"agents": len(self.server.reports)})

    def do_PUT(self) -> None:
        """Accept a report. The answer has the control plane's last answer to the agent, such as `drain`."""
        try:
            agent_id, report = self._read()
        except ValueError as error:
            # The rest of the body may be unread.
            self.close_connection = True
            return self._answer(HTTPStatus.BAD_REQUEST, {"detail": str(error)})
        reports = self.server.reports
        result = reports.accept(agent_id, report, time.monotonic())
        wait = reports.limit / _REPORTS_PER_LIMIT
        return self._answer(HTTPStatus.OK, {"report_again_in_seconds": wait, "result": result})

    def _read(self) -> tuple[str, dict[str, Any]]:
        """Raises ValueError."""
        folder, _, name = self.path.removeprefix("/").partition("/")
        if folder != "agents":
            raise ValueError("Use PUT /agents/{id}.")
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _MAX_BODY:
            raise ValueError(f"Content-Length is required, and at most {_MAX_BODY}.")
        report = json.loads(self.rfile.read(int(length)), parse_constant=_reject_constant)
        if not isinstance(report, dict):
            raise ValueError("The body must be a JSON object.")
        return str(uuid.UUID(name)), report

    def _answer(self, status: HTTPStatus, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing for each report."""


def _reject_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON number.")
