"""Publish the cache of the cluster. Of several watchers, one leads and publishes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from controlplane.cluster.leadership import Role, lead
from controlplane.identity.actors import system
from registry.agent_configs.event_types import CLUSTER_CONFIRMED, CLUSTER_LOADED, CLUSTER_REFUSED
from registry.agent_configs.source_models import AgentConfigCluster
from registry.agent_configs.sources.cluster.cache import CacheSnapshot
from registry.agent_configs.sources.cluster.debounce import RemovalDebounce
from registry.agent_configs.sources.cluster.objects import SOURCE as NAME
from registry.agent_configs.sources.cluster.protocol import EVERYWHERE
from registry.agent_configs.sources.follow import (
    OFF,
    Source,
    SourceListing,
    follow,
    load_published_digests,
    record_failure,
    source_state,
)

SOURCE = Source(
    NAME,
    AgentConfigCluster,
    "agent_config_cluster",
    system("agent_config_cluster"),
    CLUSTER_LOADED,
    CLUSTER_REFUSED,
    CLUSTER_CONFIRMED,
)
STANDBY = "standby"
# A watcher writes every few seconds; without it the cluster's state is unknown.
SILENT_AFTER = timedelta(seconds=60)
# A step of the active watcher takes seconds at most, and begins every few seconds.
_LEASE = timedelta(seconds=15)


def get_cluster_state() -> str:
    if not settings.AGENT_CONFIGS_KUBERNETES_NAMESPACES:
        return OFF
    return source_state(AgentConfigCluster.objects.get(id=1))


@transaction.atomic
def publish_snapshot(
    snapshot: CacheSnapshot,
    debounce: RemovalDebounce,
    *,
    watcher: str,
    holder: UUID,
    now: float,
    quiet: float,
) -> tuple[str, RemovalDebounce]:
    """Publish the snapshot if this is the active watcher.

    watcher, holder: its name, and its id as a leader. now, quiet: seconds, of the same clock. Nobody else can
    become the active watcher until the transaction ends.
    """
    if lead(Role.AGENT_CONFIG_CLUSTER, lease=_LEASE, holder=holder) is None:
        return STANDBY, debounce
    published = load_published_digests(SOURCE)
    listing = _build_listing(snapshot, {document_id.namespace for document_id in published})
    debounce = debounce.update(listing.missing(published), now=now)
    state = follow(SOURCE, replace(listing, unsettled=debounce.pending_removals(quiet=quiet, now=now)))
    AgentConfigCluster.objects.filter(id=1).update(watcher=watcher, counts=snapshot.counts)
    return state, debounce


@transaction.atomic
def mark_silent_watcher() -> None:
    """Record a failure if no watcher reports although the cluster is followed; its documents stay."""
    late = Q(checked_at=None) | Q(checked_at__lt=Now() - SILENT_AFTER)
    silent = AgentConfigCluster.objects.filter(late, is_synced=True)
    if settings.AGENT_CONFIGS_KUBERNETES_NAMESPACES and silent.exists():
        seconds = int(SILENT_AFTER.total_seconds())
        record_failure(
            SOURCE, f"No watcher has reported for {seconds} s. Start manage.py watch_agent_configs."
        )


def _build_listing(snapshot: CacheSnapshot, teams: set[str]) -> SourceListing:
    return SourceListing(
        {config_map.document: config_map.text for config_map in snapshot.config_maps},
        unreadable_teams=_find_unread(snapshot, teams),
        created_at={config_map.document: config_map.created_at for config_map in snapshot.config_maps},
    )


def _find_unread(snapshot: CacheSnapshot, teams: set[str]) -> dict[str, str]:
    everywhere = snapshot.errors.get(EVERYWHERE)
    if everywhere is None:
        return snapshot.errors
    # EVERYWHERE is no valid namespace; it shows the error even if nothing is published.
    return dict.fromkeys({EVERYWHERE, *teams}, everywhere)
