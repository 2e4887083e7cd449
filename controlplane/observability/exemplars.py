"""Exemplars: the trace of one request, beside the figure that it went into. Pure."""

from __future__ import annotations

from controlplane.observability.trace_context import trace_of

_SAMPLED = 1


def exemplar_of(traceparent: str | None) -> dict[str, str] | None:
    """Return the exemplar of a request; None if its trace is not sampled, so that nobody could look it up."""
    if not traceparent:
        return None
    trace = trace_of(traceparent)
    if not trace or not int(traceparent[-2:], 16) & _SAMPLED:
        return None
    return {"trace_id": trace["trace_id"]}
