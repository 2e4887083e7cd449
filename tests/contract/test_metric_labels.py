"""Labels of metrics: each has a bounded number of values, and all series of one server are few.

A label with ids, or with texts of clients, would make as many series as there are agents. Whoever adds a
label says here how many values it has, and why there are no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from math import prod

import pytest
from celery import current_app
from django.urls import URLPattern, URLResolver, get_resolver
from prometheus_client import Counter, Histogram
from prometheus_client.registry import REGISTRY, Collector

from controlplane.access.auth_metrics import MOST_PROVIDERS, Method
from controlplane.api.deprecated_use import MOST_CLIENTS
from controlplane.delivery.kinds import sink_kind_names
from controlplane.observability import metrics
from controlplane.observability.request_labels import labels_of, timed_route
from controlplane.pools.metrics import MOST_POOLS
from controlplane.replicas.choice import Outcome
from overrides.executions.metrics import PHASES
from overrides.flyte import calls
from overrides.loading.catalogue_cache import MOST_TYPES
from overrides.resource_types import BUILT_IN
from registry.agent_configs.metrics import MOST_DATA_PLANES
from registry.agent_configs.sources.registered.clusters import MOST_CLUSTERS
from registry.agents.states import State
from registry.dispatch.lifecycle.states import ResourceState
from registry.dispatch.start_times import MOST_SERVICE_TYPES
from registry.metrics import MOST_ENVIRONMENTS, MOST_RESULTS
from tests.contract.test_dashboards import LOADED_LATER

MOST_SERIES = 5_000
MODULES = (
    *LOADED_LATER,
    "controlplane.asgi",
    "controlplane.delivery.relay",
    "controlplane.notifications.engine_loop",
    "registry.dispatch.inbound.consuming",
    "registry.dispatch.nats_logins.answering",
)
# Metrics of processes other than web servers.
ELSEWHERE = {
    *("cp_task", "cp_task_duration_seconds", "cp_process_start_time_seconds", "cp_dispatch_messages"),
    *("cp_nats_logins", "cp_nats_sessions_ended", "cp_notification_rule_failures", "cp_notifications"),
    *("cp_deliveries", "cp_delivery_duration_seconds", "cp_outbox_sent", "cp_outbox_failed"),
}
SINK_KINDS = len(sink_kind_names())
# Of a web server: the others have no HTTP bindings.
FLYTE_CALLS = len(calls._CALLS | calls._LOGIN_CALLS | calls._EVENT_CALLS)
# How many values a label has; of the metric named before a dot, or of all. A number without a name: an
# enumeration in the code that counts.
VALUES: dict[str, int] = {
    "kind": 8,  # controlplane.web: web, passwords, metrics, and the kinds of batches
    "result": 12,  # the longest enumeration: verdicts of logins at NATS
    "cp_heartbeats.result": MOST_RESULTS + 1,
    "cp_agent_joins.result": MOST_RESULTS + 1,
    "cp_auth.result": 2,
    "cp_auth.method": len(Method),
    "cp_oidc_requests.provider": MOST_PROVIDERS + 1,
    "cp_oidc_requests.result": 3,
    # What goes away at one time: one part of one route.
    "cp_http_deprecated_requests.route": 1,
    "cp_http_deprecated_requests.part": 1,
    "cp_http_deprecated_requests.client": MOST_CLIENTS + 1,
    "sink_kind": SINK_KINDS,
    "channel": SINK_KINDS,
    "reason": 2,
    "source": 4,
    # The folder, the watcher's cluster, and each registered one.
    "agentcfg_source_last_sync_timestamp.source": MOST_CLUSTERS + 2,
    "agentcfg_source_synced.source": MOST_CLUSTERS + 2,
    "agentcfg_source_awaits_confirmation.source": MOST_CLUSTERS + 2,
    "verdict": 2,
    "dry_run": 2,
    "outcome": 3,
    "cp_replica_reads.outcome": len(Outcome),
    "resource_type": MOST_TYPES + 1,
    "phase": len(PHASES),
    # Ended executions have four of them, and the others the rest.
    "cp_flyte_workflow_seconds.phase": 4,
    "cp_flyte_workflow_phase_seconds.phase": len(PHASES) - 4,
    "cp_flyte_unreadable_rows.resource_type": len(BUILT_IN),
    "call": FLYTE_CALLS,
    # Each server has one transport: web has HTTP, flyte-grpc has gRPC.
    "transport": 1,
    "code": 4,  # what a call answers in practice, of gRPC's 17 codes
    "certificate": 2,
    "process": 6,
    "task": 30,  # a test below compares it with Celery's
    # Of the database.
    "version": 1,
    "python": 1,
    "state": max(len(State), len(ResourceState)) + 1,
    "severity": 4,
    "environment": MOST_ENVIRONMENTS + 1,
    "pool": MOST_POOLS + 1,
    "stream": 4,
    "log": 2,
    "status": 3,
    "count": 8,
    "data_plane": MOST_DATA_PLANES + 1,
    "agentcfg_conflicts.kind": 8,
    "service_type": MOST_SERVICE_TYPES + 1,
    "cp_dispatch_requests.state": 6,
    "role": 2,
    "node": 22,
    "queue": 1,
}
REQUESTS, DURATION = "cp_http_requests", "cp_http_request_duration_seconds"
HTTP = (REQUESTS, DURATION)


def routes(resolver: URLResolver | None = None, before: str = "") -> Iterator[tuple[str, str]]:
    """Yield method and route of everything that Django serves."""
    for pattern in (resolver or get_resolver()).url_patterns:
        path = before + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            view = getattr(pattern.callback, "cls", None) or getattr(pattern.callback, "view_class", None)
            for method in ("get", "post", "put", "patch", "delete"):
                if hasattr(view, method) if view else answers(path, method):
                    yield method.upper(), path
        else:
            yield from routes(pattern, path)


def answers(path: str, method: str) -> bool:
    """Return whether a function may answer. Those of Flyte and SCIM have all methods."""
    return "(" in path or path.startswith("scim") or method in ("get", "post")


def http_labels() -> set[tuple[str, str]]:
    served = {labels_of(method, route, 200) for method, route in routes()}
    return served | {labels_of(method, None, 404) for method, _ in served} | {labels_of(None, None, 400)}


def number_of(metric: str, label: str) -> int:
    return VALUES.get(f"{metric}.{label}", VALUES.get(label, 0))


def process_metrics() -> list[Collector]:
    for module in MODULES:
        import_module(module)
    found = {id(each): each for each in REGISTRY._collector_to_names if hasattr(each, "_labelnames")}
    return list(found.values())


def labels_of_database() -> dict[str, tuple[str, ...]]:
    """Return the labels of each figure that is read from the database, also of those without rows."""
    families = (family for collector in metrics._COLLECTORS for family in collector.collect())
    return {family.name: tuple(getattr(family, "_labelnames", ())) for family in families}


def samples_of(metric: Collector) -> int:
    """Return the series of one combination of labels: buckets, sum and count, or one."""
    return len(metric._kwargs["buckets"]) + 3 if isinstance(metric, Histogram) else 1


def test_every_label_of_a_process_has_a_bound():
    found = process_metrics()
    assert {type(metric) for metric in found} >= {Counter, Histogram}
    unbounded = {
        f"{metric._name}.{label}"
        for metric in found
        for label in metric._labelnames
        if metric._name not in HTTP and not number_of(metric._name, label)
    }
    assert not unbounded, "Say in VALUES how many values these labels have."


@pytest.mark.django_db
def test_every_label_of_the_database_has_a_bound():
    by_metric = labels_of_database()
    assert len(by_metric) > 30
    unbounded = {
        f"{metric}.{label}"
        for metric, labels in by_metric.items()
        for label in labels
        if not number_of(metric, label)
    }
    assert not unbounded, "Say in VALUES how many values these labels have."


def test_an_id_as_a_label_is_noticed():
    """The checks above, of a metric that somebody may add."""
    planted = Counter("cp_planted_total", "Planted.", ["agent_id"])
    try:
        with pytest.raises(AssertionError, match="agent_id"):
            test_every_label_of_a_process_has_a_bound()
    finally:
        REGISTRY.unregister(planted)


@pytest.mark.django_db
def test_a_web_server_has_few_series_even_if_every_label_had_all_its_values():
    requests = http_labels()
    timed = {(method, timed_route(route)) for method, route in requests}
    # Good, and refused; the console and unknown paths have every class.
    series = {REQUESTS: 2 * len(requests) + 30, DURATION: len(timed) * samples_of(metrics.DURATION)}
    for metric in process_metrics():
        name = metric._name
        if name in ELSEWHERE or not name.startswith(("cp_", "agentcfg_")):
            continue
        if name not in HTTP:
            series[name] = prod(number_of(name, each) for each in metric._labelnames) * samples_of(metric)
    for name, labels in labels_of_database().items():
        series[name] = prod(number_of(name, label) for label in labels)

    largest = sorted(series.items(), key=lambda item: -item[1])[:8]
    assert sum(series.values()) <= MOST_SERIES, f"{sum(series.values())}: {largest}"
    # Routes, pools and data planes were found.
    assert series[DURATION] > 1_000
    assert series["cp_pool_used"] == MOST_POOLS + 1
    assert series["agentcfg_bundle_revision"] == MOST_DATA_PLANES + 1


def test_there_are_no_more_tasks_than_said():
    current_app.loader.import_default_modules()
    tasks = [name for name in current_app.tasks if not name.startswith("celery.")]
    assert 10 < len(tasks) <= VALUES["task"]
