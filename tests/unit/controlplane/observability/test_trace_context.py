"""The trace of a request, as its caller names it."""

from __future__ import annotations

import pytest

from controlplane.observability.trace_context import is_sampled, trace_of, valid_traceparent

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def test_a_valid_header_names_trace_and_span():
    assert trace_of(f"00-{TRACE}-{SPAN}-01") == {"trace_id": TRACE, "span_id": SPAN}


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01\nforged",
        f"00-{TRACE}-{SPAN}-01-extra",
    ],
)
def test_what_is_no_trace_reaches_no_log_line(header):
    assert trace_of(header) == {}
    assert not is_sampled(header)
    assert valid_traceparent(header) == ""


@pytest.mark.parametrize(("flags", "sampled"), [("00", False), ("01", True), ("02", False), ("03", True)])
def test_the_last_bit_of_the_flags_says_whether_a_trace_is_recorded(flags, sampled):
    header = f"00-{TRACE}-{SPAN}-{flags}"
    assert is_sampled(header) is sampled
    assert valid_traceparent(header) == header
