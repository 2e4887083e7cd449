"""Prometheus metrics of the fleet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db.models import Count
from django.db.models.functions import Now
from prometheus_client import Counter, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from controlplane.errors import ControlplaneError
from controlplane.observability.label_values import OTHER, FirstValues
from registry.agents.models import Agent, SweepRecord
from registry.agents.policies import liveness_policy
from registry.agents.states import State
from registry.environments.models import Environment

# Environments whose engaged guards have their own series.
MOST_ENVIRONMENTS = 20
# Codes of errors that have their own series.
MOST_RESULTS = 20
_RESULTS = FirstValues(MOST_RESULTS)
HEARTBEATS = Counter("cp_heartbeats_total", "Heartbeats received.", ["result"])
JOINS = Counter("cp_agent_joins_total", "Join requests with a join token.", ["result"])


def result_label(code: str) -> str:
    """Return the label of a result. code: of the error, or `accepted`."""
    return _RESULTS.label(code)


@contextmanager
def count_heartbeat() -> Iterator[None]:
    """Count the heartbeat handled in this context: as accepted, or by the code of the error."""
    try:
        yield
    except ControlplaneError as error:
        HEARTBEATS.labels(result_label(error.code)).inc()
        raise
    HEARTBEATS.labels("accepted").inc()


class AgentCounts(Collector):
    """Agents by state, counted in the database at each scrape."""

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily("cp_agents", "Agents by state.", labels=["state"])
        count_by_state = dict(Agent.objects.values_list("state").annotate(count=Count("id")))
        for state in State:
            family.add_metric([state.value], count_by_state.get(state.value, 0))
        yield family


class FleetMetrics(Collector):
    """Active fleet guards, age of the last sweep, and the heartbeat interval."""

    def collect(self) -> Iterator[Metric]:
        guards = GaugeMetricFamily("cp_fleet_guard_engaged", "Active fleet guards.", labels=["environment"])
        engaged = Environment.objects.exclude(guard_engaged_at=None).order_by("name")
        for environment in engaged[:MOST_ENVIRONMENTS]:
            guards.add_metric([environment.name or "*"], 1)
        if engaged.count() > MOST_ENVIRONMENTS:
            guards.add_metric([OTHER], 1)
        yield guards
        record = SweepRecord.objects.annotate(now=Now()).first()
        if record is not None and record.last_sweep_at is not None:
            age = (record.now - record.last_sweep_at).total_seconds()
            yield GaugeMetricFamily(
                "cp_sweep_age_seconds", "Seconds since the last sweep started.", value=age
            )
        interval = liveness_policy().interval.total_seconds()
        yield GaugeMetricFamily(
            "cp_heartbeat_interval_seconds",
            "Heartbeat interval sent to agents, without jitter.",
            value=interval,
        )
