"""Traces of this process, exported to a collector of the test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from controlplane.observability.traces import exporting
from tests.support.trace_collector import Collector


@contextmanager
def recorded_traces(**environment: str) -> Iterator[Collector]:
    """Record every trace of this process in the block, unless the environment says otherwise."""
    with Collector() as collector:
        told = {**collector.environment, "OTEL_TRACES_SAMPLER": "parentbased_always_on", **environment}
        before = {name: os.environ.get(name) for name in told}
        os.environ.update(told)
        exporting.start("test", name="controlplane", environment="tests")
        try:
            yield collector
        finally:
            exporting.stop()
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
