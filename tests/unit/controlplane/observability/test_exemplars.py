"""Exemplars: of sampled traces alone."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.openmetrics.exposition import generate_latest

from controlplane.observability.exemplars import exemplar_of

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.parametrize(
    ("traceparent", "exemplar"),
    [
        (f"00-{TRACE}-{SPAN}-01", {"trace_id": TRACE}),
        (f"00-{TRACE}-{SPAN}-03", {"trace_id": TRACE}),
        (f"00-{TRACE}-{SPAN}-00", None),
        (f"00-{TRACE}-{SPAN}-02", None),
        (f"00-{'0' * 32}-{SPAN}-01", None),
        (f"00-{TRACE}-{SPAN}-0x", None),
        (f"00-{TRACE}-{SPAN}", None),
        ("", None),
        (None, None),
    ],
)
def test_exemplar(traceparent, exemplar):
    assert exemplar_of(traceparent) == exemplar


def test_it_is_in_the_text_of_openmetrics():
    registry = CollectorRegistry()
    seconds = Histogram("seconds", "Time.", registry=registry, buckets=(1,))
    seconds.observe(0.5, exemplar_of(f"00-{TRACE}-{SPAN}-01"))

    assert (
        f'seconds_bucket{{le="1.0"}} 1.0 # {{trace_id="{TRACE}"}} 0.5' in generate_latest(registry).decode()
    )
