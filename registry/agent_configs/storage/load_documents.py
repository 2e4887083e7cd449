"""Load published documents, each once for all data planes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from registry.agent_configs import serialization
from registry.agent_configs.bundles.conditions import ProbeResult
from registry.agent_configs.bundles.generations import Generation, find_served_generation
from registry.agent_configs.documents.published import DocumentId, PublishedDocument
from registry.agent_configs.documents.reading import Reading
from registry.agent_configs.models import (
    AgentConfig,
    AgentConfigGeneration,
    AgentConfigQuarantine,
    DataPlane,
)
from registry.agent_configs.owners import organisations
from registry.agent_configs.reachability.outcomes import load_outcomes, probe_of
from registry.agent_configs.source_models import AgentConfigCluster, AgentConfigFolder, RegisteredCluster
from registry.agent_configs.storage import policies


@dataclass(frozen=True, slots=True)
class LoadedDocument:
    """A stored document, or one in a preview. key: of its row; None if it has none.

    generation, reading: of the latest generation; published: what may be served; probe: of its agents.
    """

    key: UUID | None
    published: PublishedDocument
    generation: int
    reading: Reading
    synced: bool = True
    probe: ProbeResult | None = None

    @property
    def id(self) -> DocumentId:
        return self.published.id


def load_documents(*, now: datetime) -> list[LoadedDocument]:
    """Load all published documents in a fixed order."""
    organisation_by_team = organisations()
    stale = _find_stale_sources()
    outcomes = load_outcomes()
    rows = AgentConfig.objects.filter(deleted_at=None).defer("text", "recent_changes")
    documents = [
        _build_document(row, organisation_by_team.get(row.team, ""), synced=row.source not in stale, now=now)
        for row in rows.order_by("source", "team", "name").iterator(chunk_size=2000)
    ]
    return [replace(document, probe=probe_of(document.published.content, outcomes)) for document in documents]


def _find_stale_sources() -> set[str]:
    rows = (("folder", AgentConfigFolder), ("kubernetes", AgentConfigCluster))
    stale = {name for name, row in rows if row.objects.filter(is_synced=False).exists()}
    return stale | set(RegisteredCluster.objects.filter(is_synced=False).values_list("name", flat=True))


def load_older_generations(documents: Iterable[LoadedDocument]) -> list[PublishedDocument]:
    """Load older generations of documents that some data plane gets instead of the latest."""
    fallback_ids = set(
        AgentConfigQuarantine.objects.exclude(fallback=0).values_list("document_id", flat=True)
    )
    trials = DataPlane.objects.exclude(trial=None).values_list("trial", flat=True)
    suspects = {
        serialization.document_id_from_json(suspect)
        for trial in trials
        if trial
        for suspect in trial["suspects"]
    }
    published_by_key = {
        document.key: document.published
        for document in documents
        if document.key in fallback_ids or document.id in suspects
    }
    rows = AgentConfigGeneration.objects.filter(document_id__in=[*published_by_key])
    return [
        replace(published_by_key[key], content=serialization.content_from_json(content))
        for key, content in rows.values_list("document_id", "content")
    ]


def _build_document(row: AgentConfig, organisation: str, *, synced: bool, now: datetime) -> LoadedDocument:
    content = serialization.content_from_json(row.content) if row.content else None
    diagnostics = serialization.diagnostics_from_json(row.diagnostics)
    reading = Reading(content if row.is_valid else None, diagnostics, row.name, row.is_parsed)
    seen_at = row.content_seen_at or row.changed_at
    last_good = Generation(row.content_generation, content, seen_at) if content else None
    generation = find_served_generation(
        row.generation, reading, last_good, policy=policies.generation_policy(), now=now
    )
    published = PublishedDocument(
        row.document_id,
        row.team,
        generation.number if generation else row.generation,
        generation.content if generation else None,
        row.created_at,
        serialization.facts_from_json(row.facts),
        serialization.canary_from_json(row.canary),
        organisation,
    )
    return LoadedDocument(row.id, published, row.generation, reading, synced)
