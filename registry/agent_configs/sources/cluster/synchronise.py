"""Publish what is known of the cluster. Of all watchers one writes: who holds the advisory lock."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q
from django.db.models.functions import Now

from controlplane.identity.actors import system
from registry.agent_configs.event_types import CLUSTER_CONFIRMED, CLUSTER_LOADED, CLUSTER_REFUSED
from registry.agent_configs.source_models import AgentConfigCluster
from registry.agent_configs.sources.cluster.cache import Seen
from registry.agent_configs.sources.cluster.debounce import Settling
from registry.agent_configs.sources.cluster.objects import SOURCE as NAME
from registry.agent_configs.sources.cluster.protocol import EVERYWHERE
from registry.agent_configs.sources.follow import OFF, Found, Source, fail, follow, known_documents, state_of

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
_LOCK = 7_402_116
# A watcher writes every few seconds; without it nobody knows what the cluster says.
SILENT_AFTER = timedelta(seconds=60)
_HOLDS = """
SELECT CASE
  WHEN EXISTS (
    SELECT FROM pg_locks
    WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND classid = 0 AND objid = %(lock)s AND objsubid = 1
  ) THEN true
  ELSE pg_try_advisory_lock(%(lock)s)
END
"""


def cluster_state() -> str:
    if not settings.AGENT_CONFIGS_KUBERNETES_NAMESPACES:
        return OFF
    return state_of(AgentConfigCluster.objects.get(id=1))


@transaction.atomic
def store(seen: Seen, settling: Settling, *, watcher: str, now: float, quiet: float) -> tuple[str, Settling]:
    """Publish what was seen, if this is the watcher that writes. now, quiet: seconds, of the same clock.

    Whether it is, is asked in the transaction that writes: with a lost connection the lock is lost, too.
    """
    if not holds_lock():
        return STANDBY, settling
    known = known_documents(SOURCE)
    found = _found(seen, {one.namespace for one in known})
    settling = settling.seen(found.missing(known), now=now)
    state = follow(SOURCE, replace(found, unsettled=settling.waiting(quiet=quiet, now=now)))
    AgentConfigCluster.objects.filter(id=1).update(watcher=watcher, counts=seen.counts)
    return state, settling


def holds_lock() -> bool:
    """True if this connection has the watchers' lock, or got it now. It keeps it until it is closed."""
    with connection.cursor() as cursor:
        cursor.execute(_HOLDS, {"lock": _LOCK})
        return bool(cursor.fetchone()[0])


@transaction.atomic
def mark_silent_watcher() -> None:
    """Say that nobody follows the cluster, where somebody should: documents stay, and look it."""
    late = Q(checked_at=None) | Q(checked_at__lt=Now() - SILENT_AFTER)
    silent = AgentConfigCluster.objects.filter(late, is_synced=True)
    if settings.AGENT_CONFIGS_KUBERNETES_NAMESPACES and silent.exists():
        seconds = int(SILENT_AFTER.total_seconds())
        fail(SOURCE, f"No watcher has reported for {seconds} s: manage.py watch_agent_configs.")


def _found(seen: Seen, teams: set[str]) -> Found:
    return Found(
        {one.document: one.text for one in seen.config_maps},
        unread=_unread(seen, teams),
        created_at={one.document: one.created_at for one in seen.config_maps},
    )


def _unread(seen: Seen, teams: set[str]) -> dict[str, str]:
    everywhere = seen.troubles.get(EVERYWHERE)
    if everywhere is None:
        return seen.troubles
    # A name that no namespace can have, so that the trouble is told even where nothing is known.
    return dict.fromkeys({EVERYWHERE, *teams}, everywhere)
