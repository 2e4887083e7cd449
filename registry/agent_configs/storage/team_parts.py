"""Rows of team parts: each team's active documents in a data plane, and its held change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from typing import Any

import structlog

from controlplane.database.clock import database_now
from controlplane.events import log as event_log
from registry.agent_configs import serialization
from registry.agent_configs.bundles.bundle import Bundle
from registry.agent_configs.bundles.team_parts import Division, HeldPart, Parts, document_references
from registry.agent_configs.documents.published import DocumentId, PublishedDocument
from registry.agent_configs.event_types import PART_HELD
from registry.agent_configs.models import AgentConfig, AgentConfigGeneration, DataPlane
from registry.agent_configs.owners import organisations, owner_of, reader_of
from registry.agent_configs.part_models import AgentConfigPart
from registry.agent_configs.storage.load_documents import LoadedDocument

# A document's ID and a generation.
Reference = tuple[DocumentId, int]
_MAX_REPORTED = 1000
log = structlog.get_logger(__name__)


def accepts_team(plane: DataPlane, team: str) -> bool:
    """True if the data plane gets the team's documents."""
    return not plane.teams or any(fnmatchcase(team, pattern) for pattern in plane.teams)


def load_parts(plane: DataPlane, documents: Collection[LoadedDocument], active: Bundle | None) -> Parts:
    """Load each team's last active documents, including deleted ones."""
    references_by_team = _load_references(plane, active)
    available = {(document.id, document.published.generation): document.published for document in documents}
    required = {reference for team_references in references_by_team.values() for reference in team_references}
    available |= _load_older(required - available.keys())
    return {
        team: tuple(
            available[reference]
            for reference in team_references
            if reference in available and available[reference].content
        )
        for team, team_references in references_by_team.items()
    }


def store_parts(plane: DataPlane, division: Division, *, activated: bool) -> None:
    """Store each team's active documents and held change; append events for new holds."""
    rows = {row.team: row for row in AgentConfigPart.objects.filter(data_plane=plane)}
    held_parts = {held_part.team: held_part for held_part in division.held_parts}
    changed = []
    for team in division.parts.keys() | held_parts.keys() | rows.keys():
        row = rows.get(team) or AgentConfigPart(data_plane=plane, team=team)
        before = (row.documents, row.held)
        if activated:
            row.documents = document_references(division.parts.get(team, ()))
        row.held = _hold_to_json(plane, held_parts[team], row.held) if team in held_parts else None
        if before != (row.documents, row.held) or row.id is None:
            changed.append(row)
    _store_rows(changed)


def load_held_parts(plane: DataPlane) -> list[AgentConfigPart]:
    return list(AgentConfigPart.objects.filter(data_plane=plane).exclude(held=None).order_by("team"))


def load_held_teams(planes: Collection[DataPlane]) -> dict[str, list[str]]:
    """Load the teams with a held change, by data plane."""
    teams_by_plane: defaultdict[str, list[str]] = defaultdict(list)
    rows = AgentConfigPart.objects.filter(data_plane__in=planes).exclude(held=None)
    for plane, team in rows.order_by("team").values_list("data_plane_id", "team"):
        teams_by_plane[plane].append(team)
    return teams_by_plane


def generations_in_force(row: AgentConfig) -> set[int]:
    """Return the generations of a document that a data plane gets, or may get again."""
    parts = AgentConfigPart.objects.filter(team=row.team).values_list("documents", flat=True)
    name = [row.source, row.team, row.name]
    return {document[3] for documents in parts for document in documents if document[:3] == name}


def load_held_documents() -> set[DocumentId]:
    """Load documents of teams with a held change; they stay active even if deleted."""
    parts = AgentConfigPart.objects.exclude(held=None).values_list("documents", flat=True)
    return {
        serialization.document_id_from_json(document[:3]) for documents in parts for document in documents
    }


def _load_references(plane: DataPlane, active: Bundle | None) -> dict[str, list[Reference]]:
    rows = AgentConfigPart.objects.filter(data_plane=plane).values_list("team", "documents")
    references_by_team = {
        team: [(serialization.document_id_from_json(document[:3]), document[3]) for document in documents]
        for team, documents in rows
        if accepts_team(plane, team)
    }
    if references_by_team or active is None:
        return references_by_team
    # The bundle predates team parts.
    inputs: defaultdict[str, list[Reference]] = defaultdict(list)
    for bundle_input in active.inputs:
        if accepts_team(plane, bundle_input.document.namespace):
            inputs[bundle_input.document.namespace].append((bundle_input.document, bundle_input.generation))
    return dict(inputs)


def _load_older(required: Collection[Reference]) -> dict[Reference, PublishedDocument]:
    """Load older generations of documents."""
    if not required:
        return {}
    names = {document_id for document_id, _ in required}
    rows = AgentConfig.objects.filter(
        team__in={document_id.namespace for document_id in names},
        name__in={document_id.name for document_id in names},
    ).defer("text", "content", "diagnostics")
    by_key = {row.id: row for row in rows if row.document_id in names}
    organisation_by_team = organisations()
    numbers = {number for _, number in required}
    documents = {}
    for generation in AgentConfigGeneration.objects.filter(document_id__in=by_key, number__in=numbers):
        row = by_key[generation.document_id]
        if (reference := (row.document_id, generation.number)) in required:
            documents[reference] = _build_document(row, generation, organisation_by_team.get(row.team, ""))
    for document, number in required - documents.keys():
        log.warning("agent_configs.generation_gone", document=str(document), generation=number)
    return documents


def _build_document(
    row: AgentConfig, generation: AgentConfigGeneration, organisation: str
) -> PublishedDocument:
    is_old = generation.facts is None
    return PublishedDocument(
        row.document_id,
        row.team,
        generation.number,
        serialization.content_from_json(generation.content),
        row.created_at,
        serialization.facts_from_json(row.facts if is_old else generation.facts),
        serialization.canary_from_json(row.canary if is_old else generation.canary),
        organisation,
    )


def _hold_to_json(plane: DataPlane, held_part: HeldPart, before: dict[str, Any] | None) -> dict[str, Any]:
    """Return the hold as stored JSON; append an event if it is new."""
    hold = {
        "digest": held_part.digest,
        "reasons": [{"gate": reason.gate.value, "message": reason.message} for reason in held_part.reasons],
        "changes": list(held_part.changes[:_MAX_REPORTED]),
    }
    if before and hold == {name: before[name] for name in hold}:
        return before
    reason = {"gate": held_part.reasons[0].gate.value, "message": held_part.reasons[0].message}
    data = {"data_plane": plane.name, "team": held_part.team, "digest": held_part.digest, **reason}
    event_log.append(
        PART_HELD,
        "publishing_team",
        held_part.team,
        data=data,
        actor="system:agent_configs",
        team_id=reader_of(owner_of(held_part.team), plane),
    )
    return {**hold, "since": database_now().isoformat()}


def _store_rows(rows: Iterable[AgentConfigPart]) -> None:
    changed = list(rows)
    parts = [part for part in changed if part.documents or part.held]
    AgentConfigPart.objects.bulk_create(
        parts,
        batch_size=1000,
        update_conflicts=True,
        unique_fields=("data_plane", "team"),
        update_fields=("documents", "held"),
    )
    gone = [part.id for part in changed if part.id and not (part.documents or part.held)]
    AgentConfigPart.objects.filter(id__in=gone).delete()
