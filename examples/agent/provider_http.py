"""The HTTP side of a service provider: create, read, delete and health, in JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Protocol
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass(frozen=True)
class Reply:
    status: int
    body: dict[str, Any]


class Provider(Protocol):
    def create(self, resource_id: str, spec: dict[str, Any]) -> Reply: ...

    def read(self, resource_id: str) -> Reply: ...

    def delete(self, resource_id: str) -> Reply: ...

    def health(self) -> Reply: ...

    def administer(self, order: dict[str, Any]) -> Reply: ...


def refusal(status: int, detail: str) -> Reply:
    return Reply(status, {"status": status, "detail": detail})


def make_server(provider: Provider, port: int) -> ThreadingHTTPServer:
    """Serve the provider on this machine only."""
    handler = type("Handler", (_Handler,), {"provider": provider})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    return server


class _Handler(BaseHTTPRequestHandler):
    provider: ClassVar[Provider]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        name = self._name()
        self._send(self.provider.health() if name == "health" else self.provider.read(name))

    def do_POST(self) -> None:
        body = self._body()
        if body is None:
            return
        query = parse_qs(urlsplit(self.path).query)
        # An agent that sends no id sends it as the Idempotency-Key.
        resource_id = query.get("id", [self.headers.get("Idempotency-Key", "")])[0]
        if not resource_id:
            self._send(refusal(400, "Send an id: as ?id= or as Idempotency-Key."))
            return
        spec = body["spec"] if isinstance(body.get("spec"), dict) else body
        self._send(self.provider.create(resource_id, spec))

    def do_DELETE(self) -> None:
        self._send(self.provider.delete(self._name()))

    def do_PUT(self) -> None:
        body = self._body()
        if body is not None:
            is_order = self._name() == "admin"
            self._send(self.provider.administer(body) if is_order else refusal(404, "There is no such path."))

    def _name(self) -> str:
        return unquote(urlsplit(self.path).path.rpartition("/")[2])

    def _body(self) -> dict[str, Any] | None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            self._send(refusal(400, "Send a JSON object."))
            return None
        return body

    def _send(self, reply: Reply) -> None:
        body = b"" if reply.status == 204 else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        if reply.status != 204:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass
