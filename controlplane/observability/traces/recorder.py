"""Spans of OpenTelemetry, as `spans` names them. Imported only while traces are on."""

from __future__ import annotations

from contextvars import Token
from typing import Any, Self

from opentelemetry import context as contexts
from opentelemetry.context import Context
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    Tracer,
    get_current_span,
    set_span_in_context,
)

from controlplane.observability.trace_context import trace_of
from controlplane.observability.traces.spans import Attributes, Kind

_KINDS: dict[str, SpanKind] = {
    "internal": SpanKind.INTERNAL,
    "server": SpanKind.SERVER,
    "client": SpanKind.CLIENT,
    "producer": SpanKind.PRODUCER,
    "consumer": SpanKind.CONSUMER,
}


class RecordedSpan:
    """A span of the SDK. Errors are recorded by their type alone: messages can contain anything."""

    __slots__ = ("_span", "_token")

    def __init__(self, span: Span) -> None:
        self._span = span
        self._token: Token[Context] | None = None

    @property
    def traceparent(self) -> str:
        here = self._span.get_span_context()
        return f"00-{here.trace_id:032x}-{here.span_id:016x}-{here.trace_flags:02x}" if here.is_valid else ""

    @property
    def is_recording(self) -> bool:
        return self._span.is_recording()

    def set(self, name: str, value: str | float | bool) -> None:
        self._span.set_attribute(name, value)

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def fail(self, error: str) -> None:
        self._span.set_attribute("error.type", error)
        self._span.set_status(StatusCode.ERROR)

    def end(self) -> None:
        self._span.end()

    def __enter__(self) -> Self:
        self._token = contexts.attach(set_span_in_context(self._span))
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if self._token is not None:
            contexts.detach(self._token)
        if kind is not None:
            self.fail(kind.__qualname__)
        self._span.end()


class OpenTelemetryRecorder:
    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def span(
        self, name: str, kind: Kind, parent: str | None, attributes: Attributes | None, began_at: int | None
    ) -> RecordedSpan:
        context = None if parent is None else _context_of(parent)
        return RecordedSpan(
            self._tracer.start_span(name, context, _KINDS[kind], attributes, start_time=began_at)
        )

    def current(self) -> RecordedSpan | None:
        span = get_current_span()
        return RecordedSpan(span) if span.get_span_context().is_valid else None


def _context_of(traceparent: str) -> Context:
    """Return the context that a traceparent names; without a valid one, that of a new trace."""
    ids = trace_of(traceparent)
    if not ids:
        return Context()
    flags = TraceFlags(int(traceparent[-2:], 16))
    remote = SpanContext(int(ids["trace_id"], 16), int(ids["span_id"], 16), is_remote=True, trace_flags=flags)
    return set_span_in_context(NonRecordingSpan(remote), Context())
