"""Metrics of requests, by route template and never by id: 100,000 agents must not make as many series."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry, Counter, Histogram, Metric, generate_latest, multiprocess
from prometheus_client.registry import REGISTRY, Collector

from controlplane.observability.alerting.thresholds import Figure

REQUESTS = Counter("cp_http_requests_total", "Requests answered.", ["method", "route", "code_class"])
DURATION = Histogram(
    "cp_http_request_duration_seconds",
    "Time to answer.",
    ["method", "route"],
    buckets=(0.005, 0.01, 0.02, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}
_COLLECTORS: list[Collector] = []
_EXPOSITIONS: dict[str, Callable[[], bytes]] = {}


class MetricsMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        response = self.get_response(request)
        match = request.resolver_match
        route = match.route if match else "none"
        method = request.method if request.method in _METHODS else "other"
        REQUESTS.labels(method, route, f"{response.status_code // 100}xx").inc()
        DURATION.labels(method, route).observe(time.perf_counter() - started)
        return response


def collect_at_scrape(collector: Collector) -> None:
    """Add figures that are read from the database when somebody scrapes, once and not per process."""
    _COLLECTORS.append(collector)


def scraped_figures() -> list[Figure]:
    """Return the figures that are read from the database."""
    return [
        Figure(sample.name, sample.labels, sample.value)
        for collector in _COLLECTORS
        for family in collector.collect()
        for sample in family.samples
    ]


def publish(name: str, text: Callable[[], bytes]) -> None:
    """Serve other metrics as Prometheus text at `/metrics/<name>`."""
    _EXPOSITIONS[name] = text


def published(name: str) -> bytes | None:
    """Return the metrics that were published with this name; None if there are none."""
    return _EXPOSITIONS[name]() if name in _EXPOSITIONS else None


def exposition() -> bytes:
    """Return all figures as Prometheus text; summed over processes where there are several."""
    return generate_latest(_processes()) + _scraped()


def process_families() -> Iterator[Metric]:
    """Yield the figures that processes count, without those that are read from the database."""
    yield from _processes().collect()


def _processes() -> CollectorRegistry:
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry


def _scraped() -> bytes:
    registry = CollectorRegistry()
    for collector in _COLLECTORS:
        registry.register(collector)
    return generate_latest(registry)
