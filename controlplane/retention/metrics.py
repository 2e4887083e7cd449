"""Prometheus metrics of retention and of the audit chain."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Max
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from controlplane.access.audit_chain.models import AuditCheck, AuditSeal
from controlplane.database.clock import statement_now
from controlplane.retention.holds import active_holds
from controlplane.retention.logs import LOGS, Log
from controlplane.retention.models import Archive
from controlplane.retention.months import Partition, months_ahead, to_archive
from controlplane.retention.partitions import is_partitioned, partitions_of, rows_astray

# Partitions are archived every six hours.
_PATIENCE = timedelta(hours=26)


class RetentionCollector(Collector):
    """Figures from the catalogue and from small tables, read at each scrape."""

    def collect(self) -> Iterator[Metric]:
        yield _archives()
        yield from _partitions()
        yield GaugeMetricFamily(
            "cp_legal_holds", "Active legal holds.", value=active_holds(statement_now()).count()
        )
        yield from _chain()


def _archives() -> Metric:
    family = GaugeMetricFamily(
        "cp_archive_last_success_timestamp_seconds",
        "When a partition of the log was last archived and verified.",
        labels=["log"],
    )
    for log, at in Archive.objects.values_list("log").annotate(Max("verified_at")):
        family.add_metric([log], at.timestamp())
    return family


def _partitions() -> Iterator[Metric]:
    months = GaugeMetricFamily(
        "cp_log_partition_months_ahead",
        "Months after this one that have a partition; -1: this month has none. Alert below 1.",
        labels=["log"],
    )
    astray = GaugeMetricFamily(
        "cp_log_rows_without_partition",
        "Rows in the default partition, because their month had none. Alert above 0.",
        labels=["log"],
    )
    unarchived = GaugeMetricFamily(
        "cp_log_partitions_unarchived",
        "Past partitions that should be archived since 26 hours, and are not. Alert above 0.",
        labels=["log"],
    )
    now = statement_now()
    for log in LOGS:
        if is_partitioned(log):
            unarchived.add_metric([log.table], len(_unarchived(log, now)))
            months.add_metric([log.table], months_ahead(partitions_of(log), now))
            astray.add_metric([log.table], rows_astray(log)[0])
    yield months
    yield astray
    if settings.ARCHIVE_URL:
        yield unarchived


def _unarchived(log: Log, now: datetime) -> list[Partition]:
    archived = set(Archive.objects.filter(log=log.table).values_list("partition", flat=True))
    return to_archive(partitions_of(log), archived, now - _PATIENCE)


def _chain() -> Iterator[Metric]:
    check = AuditCheck.objects.order_by("-id").first()
    seal = AuditSeal.objects.order_by("-number").first()
    yield GaugeMetricFamily(
        "cp_audit_chain_breaks",
        "Breaks that the last verification of the audit log found. Alert above 0.",
        value=check.break_count if check else 0,
    )
    yield GaugeMetricFamily(
        "cp_audit_last_seal_timestamp_seconds",
        "When a day of the audit log was last sealed.",
        value=seal.sealed_at.timestamp() if seal else 0,
    )
