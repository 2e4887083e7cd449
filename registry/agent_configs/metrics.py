"""Prometheus metrics of agent configurations."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Count, F
from prometheus_client import Counter, Histogram, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from controlplane.database.clock import database_now
from controlplane.observability.label_values import OTHER
from registry.agent_configs.models import AgentConfig, AgentConfigQuarantine, AgentConfigStatus, DataPlane
from registry.agent_configs.part_models import AgentConfigPart
from registry.agent_configs.source_models import (
    AgentConfigCluster,
    AgentConfigFolder,
    RegisteredCluster,
    SourceRow,
)

# Data planes that have their own series, by name; `other` has those of the rest that need a person.
MOST_DATA_PLANES = 50
VALIDATIONS = Counter("agentcfg_validation_requests_total", "Validated documents.", ["source", "verdict"])
VALIDATION_SECONDS = Histogram(
    "agentcfg_validation_duration_seconds",
    "Time to validate one document.",
    buckets=(0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5),
)
ADMISSIONS = Counter(
    "agentcfg_admission_requests_total",
    "Responses to the Kubernetes admission webhook.",
    ["verdict", "dry_run"],
)


class AgentConfigCollector(Collector):
    """Metrics counted in the database at each scrape."""

    def collect(self) -> Iterator[Metric]:
        yield _documents()
        yield from _conflicts()
        yield from _planes()
        yield from _sources()


def _sources() -> Iterator[Metric]:
    synced = GaugeMetricFamily(
        "agentcfg_source_last_sync_timestamp", "Time of the last read of a source.", labels=["source"]
    )
    current = GaugeMetricFamily(
        "agentcfg_source_synced", "0 while the source cannot be read.", labels=["source"]
    )
    holds = GaugeMetricFamily(
        "agentcfg_source_awaits_confirmation", "1 while a removal waits for confirmation.", labels=["source"]
    )
    cluster = AgentConfigCluster.objects.exclude(checked_at=None).first()
    folder = AgentConfigFolder.objects.exclude(checked_at=None).first()
    rows: list[tuple[str, SourceRow | None]] = [("folder", folder), ("kubernetes", cluster)]
    rows += [(row.name, row) for row in RegisteredCluster.objects.exclude(checked_at=None).order_by("name")]
    for name, row in rows:
        if row:
            if row.loaded_at:
                synced.add_metric([name], row.loaded_at.timestamp())
            current.add_metric([name], int(row.is_synced))
            holds.add_metric([name], int(row.pending is not None))
    yield from (synced, current, holds)
    counts = GaugeMetricFamily(
        "agentcfg_cluster_watch", "Counts of the active watcher since it started.", labels=["count"]
    )
    for name, count in sorted(cluster.counts.items() if cluster else ()):
        counts.add_metric([name], count)
    yield counts


def _documents() -> GaugeMetricFamily:
    family = GaugeMetricFamily("agentcfg_documents", "Documents by state.", labels=["state"])
    published = AgentConfig.objects.filter(deleted_at=None)
    family.add_metric(["valid"], published.filter(is_valid=True).count())
    family.add_metric(["invalid"], published.filter(is_valid=False).count())
    quarantined = AgentConfigQuarantine.objects.filter(document__deleted_at=None)
    family.add_metric(["quarantined"], quarantined.values("document").distinct().count())
    return family


def _conflicts() -> Iterator[GaugeMetricFamily]:
    family = GaugeMetricFamily("agentcfg_conflicts", "Rejected claims in all data planes.", labels=["kind"])
    counts: dict[str, int] = {}
    for conflicts in AgentConfigStatus.objects.exclude(conflicts=[]).values_list("conflicts", flat=True):
        for conflict in conflicts:
            counts[conflict["kind"]] = counts.get(conflict["kind"], 0) + 1
    for kind, count in sorted(counts.items()):
        family.add_metric([kind], count)
    yield family


def _planes() -> Iterator[GaugeMetricFamily]:
    revision = GaugeMetricFamily("agentcfg_bundle_revision", "The active revision.", labels=["data_plane"])
    age = GaugeMetricFamily("agentcfg_bundle_age_seconds", "Age of the active bundle.", labels=["data_plane"])
    hold = GaugeMetricFamily("agentcfg_bundle_held", "1 while a bundle is held.", labels=["data_plane"])
    parts = GaugeMetricFamily("agentcfg_parts_held", "Teams with a held change.", labels=["data_plane"])
    now = database_now()
    held = AgentConfigPart.objects.exclude(held=None).values_list("data_plane").annotate(n=Count("id"))
    held_parts = dict(held)
    rest_held, rest_parts = 0, 0
    for number, plane in enumerate(DataPlane.objects.order_by("name")):
        is_held, part_count = int(plane.held is not None), held_parts.get(plane.name, 0)
        if number >= MOST_DATA_PLANES:
            rest_held, rest_parts = max(rest_held, is_held), rest_parts + part_count
            continue
        revision.add_metric([plane.name], plane.active_revision)
        hold.add_metric([plane.name], is_held)
        parts.add_metric([plane.name], part_count)
        if plane.activated_at:
            age.add_metric([plane.name], (now - plane.activated_at).total_seconds())
    if DataPlane.objects.count() > MOST_DATA_PLANES:
        hold.add_metric([OTHER], rest_held)
        parts.add_metric([OTHER], rest_parts)
    yield from (revision, age, hold, parts, _acks())


def _acks() -> GaugeMetricFamily:
    acks = GaugeMetricFamily(
        "agentcfg_data_plane_acks", "Data planes by last acknowledgement.", labels=["state"]
    )
    waiting = DataPlane.objects.filter(active_revision__gt=F("applied_revision"), ack_state="")
    counted = dict(DataPlane.objects.exclude(ack_state="").values_list("ack_state").annotate(n=Count("name")))
    for state, count in sorted({**counted, "WAITING": waiting.count()}.items()):
        acks.add_metric([state], count)
    return acks
