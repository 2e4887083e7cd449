"""A collector of OpenTelemetry: it receives spans by OTLP/HTTP, and shows what was exported."""

from __future__ import annotations

import gzip
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from tests.support.waiting import until


@dataclass(frozen=True, slots=True)
class Seen:
    """A span as it was exported. resource: attributes of its process."""

    name: str
    trace: str
    id: str
    parent: str
    kind: int
    attributes: dict[str, Any]
    resource: dict[str, Any]
    events: int
    is_error: bool

    @property
    def service(self) -> str:
        return str(self.resource["service.name"])


def _values(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


@dataclass(slots=True)
class Collector:
    """hang_seconds: before each response. bodies: what arrived, to look for secrets in."""

    hang_seconds: float = 0
    spans: list[Seen] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    _server: ThreadingHTTPServer | None = None

    def __enter__(self) -> Self:
        collector = self

        class Door(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                zipped = self.headers.get("Content-Encoding") == "gzip"
                collector.headers.append({name.lower(): value for name, value in self.headers.items()})
                collector.receive(gzip.decompress(body) if zipped else body)
                time.sleep(collector.hang_seconds)
                answer = ExportTraceServiceResponse().SerializeToString()
                self.send_response(200)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *args: object) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.shutdown()
        self._server.server_close()

    @property
    def environment(self) -> dict[str, str]:
        """Variables of a process whose spans come here at once."""
        assert self._server is not None
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self._server.server_port}",
            "OTEL_BSP_SCHEDULE_DELAY": "50",
        }

    def receive(self, body: bytes) -> None:
        self.bodies.append(body)
        for sent in ExportTraceServiceRequest.FromString(body).resource_spans:
            resource = _values(sent.resource.attributes)
            for span in (span for scope in sent.scope_spans for span in scope.spans):
                ids = (span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex())
                facts = (_values(span.attributes), resource, len(span.events), span.status.code == 2)
                self.spans.append(Seen(span.name, *ids, span.kind, *facts))

    def named(self, name: str, service: str = "") -> list[Seen]:
        return [span for span in self.spans if span.name == name and span.service.endswith(service)]

    def wait(self, name: str, service: str = "", seconds: float = 20) -> Seen:
        """Return the first span with the name, once it is here."""
        until(
            lambda: bool(self.named(name, service)),
            seconds,
            lambda: str(sorted({s.name for s in self.spans})),
        )
        return self.named(name, service)[0]
