"""Prometheus metrics of backups. There are none until somebody reports a backup."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from controlplane.database.clock import statement_now
from controlplane.installation.backup_reports import overdue_for
from controlplane.installation.backups import last_backup


class BackupCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        ended = GaugeMetricFamily(
            "cp_backup_last_success_timestamp_seconds", "When the last reported backup ended."
        )
        overdue = GaugeMetricFamily(
            "cp_backup_overdue_seconds", "For how long the next backup is overdue. Alert above 0."
        )
        backup = last_backup()
        if backup is not None:
            within = timedelta(seconds=backup.next_within_seconds)
            ended.add_metric([], backup.finished_at.timestamp())
            late = overdue_for(backup.finished_at, within, statement_now())
            overdue.add_metric([], late.total_seconds())
        yield from (ended, overdue)
