"""Traces for the life of a process: each process that does work calls this, after any fork."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

from controlplane.observability.traces import exporting


@contextmanager
def traced_process(process: str) -> Iterator[None]:
    """Export the spans of the block if traces are configured. process: such as `web`."""
    start_traces(process)
    try:
        yield
    finally:
        exporting.stop()


def start_traces(process: str) -> None:
    """Export spans from now on if traces are configured. An application without our settings has no spans."""
    if settings.configured and settings.TRACES_ON:
        exporting.start(process, name=settings.TRACES_SERVICE, environment=settings.TRACES_ENVIRONMENT)
