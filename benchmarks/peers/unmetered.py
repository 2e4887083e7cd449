"""Our web application without metrics: what counts does nothing. Beside it, metrics have a price."""

from __future__ import annotations

import os
import sys
from typing import Any

import prometheus_client


class _Inert:
    """Takes whatever a metric takes, and keeps nothing."""

    def __init__(self, name: str = "", *_: Any, buckets: tuple[float, ...] = (), **__: Any) -> None:
        self._name = name
        self._upper_bounds = (*buckets, float("inf"))
        self._sum = self
        self._buckets = [self] * 20

    def labels(self, *_: Any, **__: Any) -> _Inert:
        return self

    def inc(self, *_: Any) -> None: ...
    def dec(self, *_: Any) -> None: ...
    def set(self, *_: Any) -> None: ...
    def observe(self, *_: Any) -> None: ...


assert "controlplane.observability.metrics" not in sys.modules, "Metrics exist already."
for _name in ("Counter", "Gauge", "Histogram"):
    setattr(prometheus_client, _name, _Inert)
os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.peers.unmetered_settings"

from controlplane.web import connection_metrics, request_metrics  # noqa: E402  (metrics are replaced first)


def _nothing(*_: Any) -> None:
    return None


for _owner, _names in (
    (request_metrics.RequestMetrics, ("record_response", "count", "count_dropped", "write")),
    (connection_metrics.ConnectionUse, ("begin", "end", "wait", "write")),
):
    for _name in _names:
        setattr(_owner, _name, _nothing)

from controlplane.asgi import application  # noqa: E402  (the same)

__all__ = ["application"]
