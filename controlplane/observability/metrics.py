"""Metrics of requests, by route template and never by id: 100,000 agents must not make as many series."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from prometheus_client import Counter, Histogram, Metric, disable_created_metrics
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import REGISTRY, Collector

from controlplane.observability.alerting.thresholds import Figure
from controlplane.observability.database_reading import FigureReader
from controlplane.observability.exemplars import exemplar_of
from controlplane.observability.process_group import families_of_group, group_folder
from controlplane.observability.request_labels import class_of, labels_of, timed_route
from controlplane.observability.scrapes import Scrapes

# When each series began: Prometheus does not need them, and they would be a fifth of all series.
disable_created_metrics()  # type: ignore[no-untyped-call]
REQUESTS = Counter("cp_http_requests_total", "Requests answered.", ["method", "route", "code_class"])
# Few buckets, and few routes: each has all buckets.
DURATION = Histogram(
    "cp_http_request_duration_seconds",
    "Time to answer.",
    ["method", "route"],
    buckets=(0.005, 0.02, 0.05, 0.1, 0.25, 1, 5),
)
_COLLECTORS: list[Collector] = []
_FIGURES = FigureReader()
_SCRAPES = Scrapes(lambda: _FIGURES.read(_COLLECTORS))
_EXPOSITIONS: dict[str, Callable[[], bytes]] = {}


class MetricsMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        response = self.get_response(request)
        match = request.resolver_match
        method, route = labels_of(request.method, match.route if match else None, response.status_code)
        REQUESTS.labels(method, route, class_of(response.status_code)).inc()
        seconds = time.perf_counter() - started
        exemplar = exemplar_of(request.META.get("HTTP_TRACEPARENT"))
        DURATION.labels(method, timed_route(route)).observe(seconds, exemplar)
        return response


@dataclass(frozen=True, slots=True)
class Exposition:
    """Figures as text, in the format that a scraper accepts."""

    text: bytes
    content_type: str


class _Families:
    """What the encoders of prometheus_client take for a registry."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def collect_at_scrape(collector: Collector) -> None:
    """Add figures that are read from the database when somebody scrapes, once and not per process."""
    _COLLECTORS.append(collector)


def scraped_figures(*, reader: str = "") -> list[Figure]:
    """Return the figures that are read from the database, without those that cannot be read.

    They are as old as those of a scrape, METRICS_CACHE_SECONDS at most. reader: as of `exposition`.
    """
    return [
        Figure(sample.name, sample.labels, sample.value)
        for family in _SCRAPES.read(settings.METRICS_CACHE_SECONDS, reader=reader)
        for sample in family.samples
    ]


def publish(name: str, text: Callable[[], bytes]) -> None:
    """Serve other metrics as Prometheus text at `/metrics/<name>`."""
    _EXPOSITIONS[name] = text


def published(name: str) -> bytes | None:
    """Return the metrics that were published with this name; None if there are none."""
    return _EXPOSITIONS[name]() if name in _EXPOSITIONS else None


def exposition(accept: str = "", *, reader: str = "") -> Exposition:
    """Return all figures: of the processes, summed where there are several, and of the database.

    accept: the scraper's header. reader: names those who see the same rows, such as an organisation.
    """
    of_database = _SCRAPES.read(settings.METRICS_CACHE_SECONDS, reader=reader)
    return _encoded([*process_families(), *of_database], accept)


def process_exposition(accept: str = "") -> Exposition:
    """Return what processes count, without the figures of the database."""
    return _encoded(process_families(), accept)


def process_families() -> Iterator[Metric]:
    """Yield the figures that processes count, without those that are read from the database."""
    folder = group_folder()
    yield from REGISTRY.collect() if folder is None else families_of_group(folder)


def _encoded(families: Iterable[Metric], accept: str) -> Exposition:
    encode, content_type = choose_encoder(accept)
    return Exposition(encode(_Families(families)), content_type)
