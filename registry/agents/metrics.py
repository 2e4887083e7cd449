"""Figures of the fleet for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Count
from prometheus_client import Counter, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from registry.agents.states import State
from registry.models import Agent

HEARTBEATS = Counter("cp_heartbeats_total", "Heartbeats received.", ["result"])


class AgentCounts(Collector):
    """Counted in the database when somebody scrapes: no process knows the whole fleet."""

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily("cp_agents", "Agents by state.", labels=["state"])
        counted = dict(Agent.objects.values_list("state").annotate(count=Count("id")))
        for state in State:
            family.add_metric([state.value], counted.get(state.value, 0))
        yield family
