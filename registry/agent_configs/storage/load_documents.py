"""Load what is published: each document once, however many data planes are given it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from registry.agent_configs import serialization
from registry.agent_configs.bundles.conditions import Probe
from registry.agent_configs.bundles.generations import Generation, served
from registry.agent_configs.documents.published import DocumentId, Published
from registry.agent_configs.documents.reading import Reading
from registry.agent_configs.models import (
    AgentConfig,
    AgentConfigGeneration,
    AgentConfigQuarantine,
    DataPlane,
    PublishingTeam,
)
from registry.agent_configs.reachability.outcomes import load_outcomes, probe_of
from registry.agent_configs.source_models import AgentConfigCluster, AgentConfigFolder
from registry.agent_configs.storage import policies


@dataclass(frozen=True, slots=True)
class Document:
    """A stored document, or one that is only tried. key: of its row; None of one that has none.

    generation, reading: of the latest; published: what may be served; probe: of its agents' endpoints.
    """

    key: UUID | None
    published: Published
    generation: int
    reading: Reading
    synced: bool = True
    probe: Probe | None = None

    @property
    def id(self) -> DocumentId:
        return self.published.id


def load_documents(*, now: datetime) -> list[Document]:
    """All documents that are published, in their order."""
    organisations = dict(PublishingTeam.objects.values_list("name", "organisation"))
    stale = _stale_sources()
    outcomes = load_outcomes()
    rows = AgentConfig.objects.filter(deleted_at=None).defer("text", "recent_changes")
    found = [
        _document(row, organisations.get(row.team, ""), synced=row.source not in stale, now=now)
        for row in rows.order_by("source", "team", "name").iterator(chunk_size=2000)
    ]
    return [replace(one, probe=probe_of(one.published.content, outcomes)) for one in found]


def _stale_sources() -> set[str]:
    rows = (("folder", AgentConfigFolder), ("kubernetes", AgentConfigCluster))
    return {name for name, row in rows if row.objects.filter(is_synced=False).exists()}


def load_older(documents: Iterable[Document]) -> list[Published]:
    """What documents said before, of those that some data plane is given as they were."""
    kept = set(AgentConfigQuarantine.objects.exclude(fallback=0).values_list("document_id", flat=True))
    trials = DataPlane.objects.exclude(trial=None).values_list("trial", flat=True)
    suspects = {serialization.read_document_id(one) for trial in trials if trial for one in trial["suspects"]}
    wanted = {one.key: one.published for one in documents if one.key in kept or one.id in suspects}
    rows = AgentConfigGeneration.objects.filter(document_id__in=[*wanted])
    return [
        replace(wanted[key], content=serialization.read_content(content))
        for key, content in rows.values_list("document_id", "content")
    ]


def _document(row: AgentConfig, organisation: str, *, synced: bool, now: datetime) -> Document:
    content = serialization.read_content(row.content) if row.content else None
    diagnostics = tuple(serialization.read_diagnostic(one) for one in row.diagnostics)
    reading = Reading(content if row.is_valid else None, diagnostics, row.name, row.is_parsed)
    seen_at = row.content_seen_at or row.changed_at
    last_good = Generation(row.content_generation, content, seen_at) if content else None
    found = served(row.generation, reading, last_good, patience=policies.patience(), now=now)
    published = Published(
        row.document_id,
        row.team,
        found.number if found else row.generation,
        found.content if found else None,
        row.created_at,
        serialization.read_facts(row.facts),
        serialization.read_canary(row.canary),
        organisation,
    )
    return Document(row.id, published, row.generation, reading, synced)
