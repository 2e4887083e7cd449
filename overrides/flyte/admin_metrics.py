"""Metrics of Flyte's calls under FlyteAdmin's names, so that its dashboards show them.

Names: Flyte v1.16.8, flyteadmin/pkg/rpc/adminservice/metrics.go. Its durations are a summary over the last
minutes; here the quantiles are of all calls since the process started, from a histogram.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.registry import Collector

from controlplane.observability.metrics import process_families

_PREFIX = "flyte:admin:admin:"
_METHODS = {
    **{
        f"{verb}{place}Attributes": f"{verb.lower()}_{name}_attrs"
        for verb in ("Update", "Get", "Delete")
        for place, name in (
            ("Project", "project"),
            ("ProjectDomain", "project_domain"),
            ("Workflow", "workflow"),
        )
    },
    "ListMatchableAttributes": "list_matchable_resource_attrs",
    "RegisterProject": "register_project",
    "ListProjects": "list_projects",
}
_OK = "OK"
# Go spells it so.
_CODES = {_OK: _OK, "CANCELLED": "Canceled"}
_QUANTILES = (0.5, 0.9, 0.99)
_MILLISECONDS = 1000


def admin_exposition() -> bytes:
    """Return the figures as Prometheus text."""
    registry = CollectorRegistry()
    registry.register(_AdminCollector(process_families()))
    return generate_latest(registry)


class _AdminCollector(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterator[Metric]:
        calls: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
        buckets: defaultdict[str, defaultdict[float, float]] = defaultdict(lambda: defaultdict(float))
        sums: defaultdict[str, float] = defaultdict(float)
        for sample in (sample for family in self._families for sample in family.samples):
            method = _METHODS.get(sample.labels.get("call", ""))
            if method is None:
                continue
            if sample.name == "cp_flyte_calls_total":
                calls[method][sample.labels["code"]] += sample.value
            elif sample.name == "cp_flyte_call_duration_seconds_bucket":
                buckets[method][float(sample.labels["le"])] += sample.value
            elif sample.name == "cp_flyte_call_duration_seconds_sum":
                sums[method] += sample.value
        for method, by_code in calls.items():
            yield from _counters(method, by_code)
        for method, by_bound in buckets.items():
            yield _durations(method, by_bound, sums[method])


def _counters(method: str, by_code: Mapping[str, float]) -> Iterator[Metric]:
    errors = sum(number for code, number in by_code.items() if code != _OK)
    yield _metric(f"{method}:success", "Successful responses.", by_code.get(_OK, 0.0))
    yield _metric(f"{method}:errors", "Errors.", errors)
    for code, number in by_code.items():
        name = _CODES.get(code) or code.title().replace("_", "")
        yield _metric(f"{method}:codes:{name}", f"Responses with {name}.", number)


def _durations(method: str, by_bound: Mapping[float, float], total_seconds: float) -> Metric:
    name = f"{_PREFIX}{method}:duration_ms"
    summary = Metric(name, "Response times in milliseconds.", "summary")
    bounds = sorted(by_bound.items())
    count = bounds[-1][1]
    for share in _QUANTILES:
        value = quantile(share, bounds) * _MILLISECONDS
        summary.add_sample(name, {"quantile": str(share)}, value)
    summary.add_sample(f"{name}_sum", {}, total_seconds * _MILLISECONDS)
    summary.add_sample(f"{name}_count", {}, count)
    return summary


def quantile(share: float, bounds: list[tuple[float, float]]) -> float:
    """Return a quantile from cumulative buckets, as PromQL's `histogram_quantile` does. Pure.

    bounds: upper bound and number of values up to it, ascending; the last bound is infinite.
    """
    rank = share * bounds[-1][1]
    for (lower, before), (upper, number) in pairwise([(0.0, 0.0), *bounds]):
        if number >= rank and number > before:
            if upper == float("inf"):
                return lower
            return lower + (upper - lower) * (rank - before) / (number - before)
    return 0.0


def _metric(name: str, meaning: str, value: float) -> Metric:
    metric = Metric(f"{_PREFIX}{name}", meaning, "unknown")
    metric.add_sample(f"{_PREFIX}{name}", {}, value)
    return metric
