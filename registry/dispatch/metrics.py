"""Prometheus metrics of dispatch."""

from __future__ import annotations

import threading
from collections import Counter as Counts
from collections.abc import Iterator, Sequence

from django.db import connection
from prometheus_client import Counter, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from controlplane.messaging.dead_letters import open_letters
from controlplane.observability.label_values import OTHER
from registry.agents.states import LIVE
from registry.dispatch.lifecycle.states import ResourceState

# Of relays. result: applied, duplicate or refused.
MESSAGES = Counter("cp_dispatch_messages_total", "Messages received over NATS.", ["result"])
# Service types that have their own series.
MOST_SERVICE_TYPES = 20
_UNFINISHED = (
    *(ResourceState.PENDING, ResourceState.QUEUED, ResourceState.PROVISIONING),
    *(ResourceState.CANCELLING, ResourceState.DELETING, ResourceState.DELETION_FAILED),
)


class DispatchCollector(Collector):
    """Figures that are read from the database at each scrape, by indexes or from small tables."""

    def __init__(self) -> None:
        self._replacements = _Replacements()

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "cp_dead_letters_open",
            "Messages that nobody could handle, and that no operator has settled.",
            value=open_letters().count(),
        )
        yield from _agents()
        yield from _resources()
        yield _by_service_type()
        yield CounterMetricFamily(
            "cp_resource_replacements",
            "Assignments of resources to another agent than the first.",
            value=self._replacements.count(),
        )


class _Replacements:
    """Counts each assignment once: a scrape reads those that are new."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counted, self._last_id = 0, 0

    def count(self) -> int:
        with self._lock, connection.cursor() as cursor:
            cursor.execute(_REPLACEMENTS, [self._last_id])
            number, last_id = cursor.fetchone()
            self._counted += number
            self._last_id = last_id or self._last_id
            return self._counted


def _agents() -> Iterator[Metric]:
    with connection.cursor() as cursor:
        cursor.execute(_AGENTS, [[state.value for state in LIVE]])
        without_consumer, congested = cursor.fetchone()
    yield GaugeMetricFamily(
        "cp_agents_without_consumer",
        "Live agents that receive no requests over NATS, and do not fetch them either.",
        value=without_consumer,
    )
    yield GaugeMetricFamily(
        "cp_agents_congested_measured", "Agents with too many unanswered messages in NATS.", value=congested
    )


def _resources() -> Iterator[Metric]:
    counts = GaugeMetricFamily("cp_resources_unfinished", "Resources by unfinished state.", labels=["state"])
    ages = GaugeMetricFamily(
        "cp_resource_oldest_seconds",
        "Seconds for which the oldest resource has been in a state.",
        labels=["state"],
    )
    with connection.cursor() as cursor:
        cursor.execute(_RESOURCES, [[state.value for state in _UNFINISHED]])
        by_state = {state: (number, age) for state, number, age in cursor.fetchall()}
    for state in _UNFINISHED:
        number, age = by_state.get(state.value, (0, 0.0))
        counts.add_metric([state.value], number)
        ages.add_metric([state.value], age)
    yield from (counts, ages)


def _by_service_type() -> Metric:
    family = GaugeMetricFamily(
        "cp_dispatch_requests",
        "Requested resources by service type and unfinished state; `other` adds up the rarer types.",
        labels=["service_type", "state"],
    )
    with connection.cursor() as cursor:
        cursor.execute(_BY_SERVICE_TYPE, [[state.value for state in _UNFINISHED]])
        rows = cursor.fetchall()
    for (service_type, state), number in add_up_rare(rows, MOST_SERVICE_TYPES).items():
        family.add_metric([service_type, state], number)
    return family


def add_up_rare(rows: Sequence[tuple[str, str, int]], most: int) -> dict[tuple[str, str], int]:
    """Return numbers by service type and state; types beyond the `most` frequent ones are `other`."""
    totals: Counts[str] = Counts()
    for service_type, _, number in rows:
        totals[service_type] += number
    own = {service_type for service_type, _ in totals.most_common(most)}
    counts: Counts[tuple[str, str]] = Counts()
    for service_type, state, number in rows:
        counts[service_type if service_type in own else OTHER, state] += number
    return dict(counts)


_AGENTS = """
SELECT count(*) FILTER (WHERE NOT coalesce(messaging.has_consumer, false)
                          AND coalesce(messaging.channel, 'nats') = 'nats'),
       count(*) FILTER (WHERE messaging.is_congested)
  FROM registry_agent AS agent LEFT JOIN registry_agentmessaging AS messaging ON messaging.agent_id = agent.id
 WHERE agent.state = ANY(%s)
"""
_RESOURCES = """
SELECT state, count(*),
       greatest(extract(epoch FROM statement_timestamp() - min(state_since)), 0)::float
  FROM registry_resource WHERE state = ANY(%s) GROUP BY state
"""
_BY_SERVICE_TYPE = """
SELECT service_type, state, count(*) FROM registry_resource WHERE state = ANY(%s)
 GROUP BY service_type, state ORDER BY service_type
"""
# Ids of transactions that have not ended yet are skipped: after a minute they have.
_REPLACEMENTS = """
SELECT count(*) FILTER (WHERE epoch > 1), max(id) FROM registry_assignment
 WHERE id > %s AND created_at < statement_timestamp() - interval '1 minute'
"""
