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
from controlplane.observability.label_values import OTHER, FirstValues
from registry.agents.states import LIVE, State
from registry.dispatch.lifecycle.states import ResourceState
from registry.dispatch.start_times import MOST_SERVICE_TYPES

# Of relays. result: applied, duplicate or refused.
MESSAGES = Counter("cp_dispatch_messages_total", "Messages received over NATS.", ["result"])
# Of a dead letter that names no resource which exists.
_NO_TYPE = "unknown"
_STATES = {
    "live": [state.value for state in LIVE],
    "ended": [state.value for state in State if state not in LIVE],
}
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
        yield _dead_letters()
        yield from _resources()
        family = CounterMetricFamily(
            "cp_resource_replacements",
            "Assignments of resources to another agent than the first.",
            labels=["service_type"],
        )
        for service_type, number in self._replacements.count().items():
            family.add_metric([service_type], number)
        yield family


class _Replacements:
    """Counts each assignment once: a scrape reads those that are new."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counted: Counts[str] = Counts()
        self._types = FirstValues(MOST_SERVICE_TYPES)
        self._last_id = 0

    def count(self) -> dict[str, int]:
        """Return replacements by service type since the first assignment."""
        with self._lock, connection.cursor() as cursor:
            cursor.execute(_REPLACEMENTS, [self._last_id])
            for service_type, number, last_id in cursor.fetchall():
                # Also by zero: a counter that starts with its first increment hides that one from `rate`.
                self._counted[self._types.label(service_type)] += number
                self._last_id = max(self._last_id, last_id)
            return dict(self._counted)


def _agents() -> Iterator[Metric]:
    with connection.cursor() as cursor:
        cursor.execute(_AGENTS, _STATES)
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
        rows = cursor.fetchall()
    for state in _UNFINISHED:
        of_state = [(number, age) for _, name, number, age in rows if name == state.value]
        counts.add_metric([state.value], sum(number for number, _ in of_state))
        ages.add_metric([state.value], max((age for _, age in of_state), default=0.0))
    yield from (counts, ages, _by_service_type([row[:3] for row in rows]))


def _dead_letters() -> Metric:
    family = GaugeMetricFamily(
        "cp_dispatch_dead_letters",
        "Dead letters that no operator has settled, by the service type of the resource that they name.",
        labels=["service_type"],
    )
    with connection.cursor() as cursor:
        cursor.execute(_DEAD_LETTERS, [_NO_TYPE])
        rows = [(service_type, "", number) for service_type, number in cursor.fetchall()]
    for (service_type, _), number in add_up_rare(rows, MOST_SERVICE_TYPES).items():
        family.add_metric([service_type], number)
    return family


def _by_service_type(rows: Sequence[tuple[str, str, int]]) -> Metric:
    family = GaugeMetricFamily(
        "cp_dispatch_requests",
        "Requested resources by service type and unfinished state; `other` adds up the rarer types.",
        labels=["service_type", "state"],
    )
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


# Without a join of all agents, which took most of a scrape: those that are not live, and those that receive
# nothing by NATS, are few. Live agents without a row have never been seen there.
_AGENTS = """
WITH live AS (SELECT count(*) AS number FROM registry_agent WHERE state = ANY(%(live)s)),
     seen AS (SELECT count(*) AS number FROM registry_agentmessaging),
     ended AS (SELECT count(*) AS number FROM registry_agent AS agent
                 JOIN registry_agentmessaging AS messaging ON messaging.agent_id = agent.id
                WHERE agent.state = ANY(%(ended)s)),
     found AS (SELECT count(*) FILTER (WHERE NOT has_consumer AND channel = 'nats') AS deaf,
                      count(*) FILTER (WHERE is_congested) AS congested
                 FROM registry_agentmessaging AS messaging
                 JOIN registry_agent AS agent ON agent.id = messaging.agent_id
                WHERE (is_congested OR (NOT has_consumer AND channel = 'nats'))
                  AND agent.state = ANY(%(live)s))
SELECT live.number - (seen.number - ended.number) + found.deaf, found.congested FROM live, seen, ended, found
"""
_RESOURCES = """
SELECT service_type, state, count(*),
       greatest(extract(epoch FROM statement_timestamp() - min(state_since)), 0)::float
  FROM registry_resource WHERE state = ANY(%s) GROUP BY service_type, state ORDER BY service_type
"""
_DEAD_LETTERS = """
SELECT coalesce(resource.service_type, %s) AS service_type, count(*)
  FROM messaging_deadletter AS letter
  LEFT JOIN registry_resource AS resource ON resource.id = letter.resource_id
 WHERE letter.state = 'open' GROUP BY 1 ORDER BY 1
"""
# Ids of transactions that have not ended yet are skipped: after a minute they have.
_REPLACEMENTS = """
SELECT resource.service_type, count(*) FILTER (WHERE assignment.epoch > 1), max(assignment.id)
  FROM registry_assignment AS assignment
  JOIN registry_resource AS resource ON resource.id = assignment.resource_id
 WHERE assignment.id > %s AND assignment.created_at < statement_timestamp() - interval '1 minute'
 GROUP BY 1 ORDER BY min(assignment.id)
"""
