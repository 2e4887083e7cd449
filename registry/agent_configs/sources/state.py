"""Status of the followed sources: the folder and the cluster."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings

from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agent_configs.sources.cluster.synchronise import SOURCE as CLUSTER
from registry.agent_configs.sources.folder import SOURCE as FOLDER
from registry.agent_configs.sources.follow import OFF, Source, source_state

SOURCES = {source.name: source for source in (FOLDER, CLUSTER)}


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """The status of a source. watcher, counts: of the process that follows the cluster, since it started."""

    source: str
    state: str
    checked_at: datetime | None
    loaded_at: datetime | None
    problem_count: int
    problems: list[str]
    pending: dict[str, Any] | None
    watcher: str
    counts: dict[str, int]


def source_status(source: Source, caller: Caller) -> SourceStatus:
    """Return a source's status. Only administrators see its problems, which name all documents."""
    row = source.rows._default_manager.get(id=1)
    rules = caller.verdict(Action.AGENT_CONFIG_RULE).allowed
    return SourceStatus(
        source=source.name,
        state=source_state(row) if _is_set_up(source) else OFF,
        checked_at=row.checked_at,
        loaded_at=row.loaded_at,
        problem_count=len(row.problems),
        problems=row.problems if rules else [],
        pending=row.pending and {**row.pending, "documents": row.pending["documents"] if rules else []},
        watcher=getattr(row, "watcher", ""),
        counts=getattr(row, "counts", {}),
    )


def _is_set_up(source: Source) -> bool:
    locations = settings.AGENT_CONFIGS_PATH, settings.AGENT_CONFIGS_KUBERNETES_NAMESPACES
    return bool(dict(zip(SOURCES, locations, strict=True))[source.name])
