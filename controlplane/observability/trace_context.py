"""The trace of a request, as its caller names it. Pure. Format: W3C Trace Context, section 3.2."""

from __future__ import annotations

import re

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_SAMPLED = 1


def trace_of(traceparent: str | None) -> dict[str, str]:
    """Return `trace_id` and `span_id` for log lines; empty without a valid header."""
    match = _TRACEPARENT.fullmatch(traceparent) if traceparent else None
    # All zeros and version ff are invalid.
    if match is None or not int(match[1], 16) or not int(match[2], 16) or match[0].startswith("ff"):
        return {}
    return {"trace_id": match[1], "span_id": match[2]}


def is_sampled(traceparent: str | None) -> bool:
    """Return whether it is valid, and its maker records the trace."""
    return bool(trace_of(traceparent)) and bool(int(str(traceparent)[-2:], 16) & _SAMPLED)


def valid_traceparent(value: object) -> str:
    """Return the value if it is a valid traceparent, else an empty text."""
    return value if isinstance(value, str) and trace_of(value) else ""
