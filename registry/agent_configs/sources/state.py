"""Status of the followed sources: the folder, the cluster of the watcher, and registered clusters."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings

from controlplane.errors import UnknownAgentConfigCluster
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agent_configs.source_models import RegisteredCluster, SourceRow
from registry.agent_configs.sources.cluster.synchronise import SOURCE as CLUSTER
from registry.agent_configs.sources.folder import SOURCE as FOLDER
from registry.agent_configs.sources.follow import OFF, Source, source_state
from registry.agent_configs.sources.registered.clusters import (
    get_readable_cluster,
    readable_clusters,
    source_of,
    unknown_source,
)

_OWN = {source.name: source for source in (FOLDER, CLUSTER)}


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """The status of a source. watcher, counts: of the process that follows a cluster, since it started."""

    source: str
    state: str
    checked_at: datetime | None
    loaded_at: datetime | None
    problem_count: int
    problems: list[str]
    pending: dict[str, Any] | None
    watcher: str
    counts: dict[str, int]


def list_sources(caller: Caller) -> list[SourceStatus]:
    """Return the status of the folder, the cluster, and the registered clusters that the caller may read."""
    own = [source_status(source, caller) for source in _OWN.values()]
    return own + [_show(row.name, row, caller) for row in readable_clusters(caller)]


def get_source(name: str, caller: Caller) -> Source:
    """Raises InvalidRequest if there is no such source, or the caller may not read it."""
    if name in _OWN:
        return _OWN[name]
    try:
        return source_of(get_readable_cluster(name, caller).name)
    except UnknownAgentConfigCluster as error:
        raise unknown_source(name) from error


def source_names(caller: Caller) -> list[str]:
    return [*_OWN, *(row.name for row in readable_clusters(caller))]


def source_status(source: Source, caller: Caller) -> SourceStatus:
    """Return a source's status. Only administrators see its problems, which name all documents."""
    return _show(source.name, source.row(), caller)


def cluster_state(row: RegisteredCluster) -> str:
    """Return the state of a registered cluster; `off` until its first report."""
    return OFF if row.checked_at is None and row.is_synced else source_state(row)


def _show(name: str, row: SourceRow, caller: Caller) -> SourceStatus:
    rules = caller.verdict(Action.AGENT_CONFIG_RULE).allowed
    watcher = row.collector if isinstance(row, RegisteredCluster) else getattr(row, "watcher", "")
    return SourceStatus(
        source=name,
        state=_state(name, row),
        checked_at=row.checked_at,
        loaded_at=row.loaded_at,
        problem_count=len(row.problems),
        problems=row.problems if rules else [],
        pending=row.pending and {**row.pending, "documents": row.pending["documents"] if rules else []},
        watcher=watcher,
        counts=getattr(row, "counts", {}),
    )


def _state(name: str, row: SourceRow) -> str:
    if isinstance(row, RegisteredCluster):
        return cluster_state(row)
    locations = settings.AGENT_CONFIGS_PATH, settings.AGENT_CONFIGS_KUBERNETES_NAMESPACES
    return source_state(row) if dict(zip(_OWN, locations, strict=True))[name] else OFF
