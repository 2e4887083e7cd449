"""Figures of service providers for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Count
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from registry.providers.health import Health
from registry.providers.models import Provider


class ProviderCounts(Collector):
    """Counted in the database when somebody scrapes, as agents are."""

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "cp_service_providers", "Service providers that hold a type, by state.", labels=["state"]
        )
        held = Provider.objects.filter(holds_type=True)
        counted = dict(held.values_list("state").annotate(count=Count("id")))
        for state in Health:
            family.add_metric([state.value], counted.get(state.value, 0))
        yield family
