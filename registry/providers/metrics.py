"""Prometheus metrics of service providers."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Count
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from registry.providers.health import Health
from registry.providers.models import Provider


class ProviderCounts(Collector):
    """Providers by state, counted in the database at each scrape."""

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "cp_service_providers", "Service providers that hold a service type, by state.", labels=["state"]
        )
        holders = Provider.objects.filter(holds_type=True)
        counted = dict(holders.values_list("state").annotate(count=Count("id")))
        for state in Health:
            family.add_metric([state.value], counted.get(state.value, 0))
        yield family
