"""Spans of requests that a fast path answered: only those whose caller records the trace have one."""

from __future__ import annotations

import time

from controlplane.observability.trace_context import is_sampled
from controlplane.observability.traces import spans
from controlplane.observability.traces.semantics import server_attributes, server_name
from controlplane.web.exchange import Exchange


def record_request(exchange: Exchange, route: str, status: int, request_id: str) -> None:
    """Record the span of a request with a `traceparent`, once it is answered."""
    head = exchange.head
    if head.traceparent is None or not spans.is_on():
        return
    parent = head.traceparent.decode("latin-1")
    if not is_sampled(parent):
        return
    taken = time.perf_counter() - exchange.began_at
    scheme = "https" if head.is_secure else "http"
    shown = f"/{route}"
    spans.span(
        server_name(exchange.method, shown),
        "server",
        parent=parent,
        began_at=time.time_ns() - int(taken * 1e9),
        attributes={
            **server_attributes(exchange.method, head.path, scheme, request_id),
            "http.route": shown,
            "http.response.status_code": status,
            "controlplane.fast_path": True,
        },
    ).end()
