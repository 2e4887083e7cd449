"""Prometheus metrics of probes."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Count
from prometheus_client import Counter, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from registry.agent_configs.reachability.models import AgentEndpoint

PROBES = Counter("agentcfg_probe_total", "Probes of agents' endpoints.", ["result"])


class EndpointCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily("agentcfg_endpoints", "Endpoints by reachability.", labels=["status"])
        for row in AgentEndpoint.objects.values("status").annotate(n=Count("id")).order_by("status"):
            family.add_metric([row["status"]], row["n"])
        yield family
