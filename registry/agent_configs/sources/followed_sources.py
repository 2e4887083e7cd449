"""Sources of agent configurations that are followed, as the state of the installation shows them."""

from __future__ import annotations

from collections.abc import Iterator

from controlplane.installation.facts import Source
from registry.agent_configs.source_models import (
    AgentConfigCluster,
    AgentConfigFolder,
    RegisteredCluster,
    SourceRow,
)
from registry.agent_configs.sources.follow import CURRENT, source_state


def followed_sources() -> Iterator[Source]:
    """Yield the folder and the clusters, as soon as they were read."""
    rows = (
        ("agent configurations: folder", AgentConfigFolder.objects.exclude(checked_at=None).first()),
        ("agent configurations: Kubernetes", AgentConfigCluster.objects.exclude(checked_at=None).first()),
    )
    for name, row in rows:
        if row is not None:
            yield _source(name, row)
    for cluster in RegisteredCluster.objects.exclude(checked_at=None).order_by("name"):
        yield _source(f"agent configurations: cluster {cluster.name}", cluster)


def _source(name: str, row: SourceRow) -> Source:
    state = source_state(row)
    return Source(
        name=name,
        state=state,
        is_stale=state != CURRENT,
        checked_at=row.checked_at,
        loaded_at=row.loaded_at,
        problems=len(row.problems),
    )
