"""Prometheus metrics of alerts. None has a label for a single rule."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Count
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from controlplane.notifications.alert_states import OPEN
from controlplane.notifications.models import Alert


class AlertCollector(Collector):
    """Open alerts, read from the database at each scrape."""

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily("cp_alerts", "Open alerts.", labels=["severity", "state"])
        rows = Alert.objects.filter(state__in=[state.value for state in OPEN]).order_by()
        for severity, state, number in rows.values_list("severity", "state").annotate(number=Count("id")):
            family.add_metric([severity, state], number)
        yield family
