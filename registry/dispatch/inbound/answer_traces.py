"""The trace of a request goes on with its answer, which names it: in a header or in the event."""

from __future__ import annotations

from controlplane.messaging.envelope import Envelope
from controlplane.observability.trace_context import trace_of, valid_traceparent
from controlplane.observability.traces import spans


def answer_span(envelope: Envelope, traceparent: str = "") -> spans.Span:
    """Begin the span of an answer; none if it names no trace. traceparent: of the message's header."""
    parent = valid_traceparent(traceparent) or envelope.traceparent
    if not (parent and spans.is_on()):
        return spans.NO_SPAN
    attributes = {
        "cloudevents.event_id": envelope.id,
        "cloudevents.event_type": envelope.type,
        "cloudevents.event_source": envelope.source,
    }
    # Over HTTPS, the request with the answer may be a part of that trace already.
    here = trace_of(spans.traceparent()).get("trace_id")
    is_inside = here == trace_of(parent)["trace_id"]
    return spans.span("agent.answer", "consumer", parent=None if is_inside else parent, attributes=attributes)
