"""Clusters whose collector does not report: their documents stay, and are marked as stale."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from registry.agent_configs.source_models import RegisteredCluster
from registry.agent_configs.sources.follow import record_failure
from registry.agent_configs.sources.registered.clusters import source_of

# A collector reports every few seconds; without it the state of its cluster is unknown.
SILENT_AFTER = timedelta(seconds=60)


@transaction.atomic
def mark_silent_clusters() -> None:
    """Record a failure of each cluster whose collector is silent, or has not started."""
    since = Now() - SILENT_AFTER
    late = Q(checked_at__lt=since) | Q(checked_at=None, created_at__lt=since)
    rows = RegisteredCluster.objects.filter(late, is_synced=True).order_by("name")
    # A cluster that reports at this moment is not silent, and one that is being removed is nobody's.
    for name in rows.select_for_update(skip_locked=True).values_list("name", flat=True):
        seconds = int(SILENT_AFTER.total_seconds())
        reason = f"No collector has reported for {seconds} s. Check that it runs in the cluster, and its log."
        record_failure(source_of(name), reason)
