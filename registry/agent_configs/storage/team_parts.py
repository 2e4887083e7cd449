"""What each team has in force in a data plane, as rows; and changes of single teams that wait."""

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
from registry.agent_configs.bundles.team_parts import Division, HeldPart, Parts, references
from registry.agent_configs.documents.published import DocumentId, Published
from registry.agent_configs.event_types import PART_HELD
from registry.agent_configs.models import AgentConfig, AgentConfigGeneration, DataPlane, PublishingTeam
from registry.agent_configs.part_models import AgentConfigPart
from registry.agent_configs.storage.load_documents import Document

# A document's id and a generation.
Reference = tuple[DocumentId, int]
_TOLD = 1000
log = structlog.get_logger(__name__)


def takes(plane: DataPlane, team: str) -> bool:
    """True if the data plane is given the team's documents."""
    return not plane.teams or any(fnmatchcase(team, pattern) for pattern in plane.teams)


def load_parts(plane: DataPlane, documents: Collection[Document], active: Bundle | None) -> Parts:
    """Each team's documents as they were last put in force, also those that were deleted since."""
    references_by_team = _references(plane, active)
    known = {(one.id, one.published.generation): one.published for one in documents}
    wanted = {one for found in references_by_team.values() for one in found}
    known |= _older(wanted - known.keys())
    return {
        team: tuple(known[one] for one in found if one in known and known[one].content)
        for team, found in references_by_team.items()
    }


def store_parts(plane: DataPlane, division: Division, *, activated: bool) -> None:
    """Remember what is in force of each team, and what waits; announce what newly waits."""
    rows = {row.team: row for row in AgentConfigPart.objects.filter(data_plane=plane)}
    held = {one.team: one for one in division.held}
    changed = []
    for team in division.parts.keys() | held.keys() | rows.keys():
        row = rows.get(team) or AgentConfigPart(data_plane=plane, team=team)
        before = (row.documents, row.held)
        if activated:
            row.documents = references(division.parts.get(team, ()))
        row.held = _held(plane, held[team], row.held) if team in held else None
        if before != (row.documents, row.held) or row.id is None:
            changed.append(row)
    _write(changed)


def parts_held(plane: DataPlane) -> list[AgentConfigPart]:
    return list(AgentConfigPart.objects.filter(data_plane=plane).exclude(held=None).order_by("team"))


def held_teams(planes: Collection[DataPlane]) -> dict[str, list[str]]:
    """Teams with a change that waits, by data plane."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    rows = AgentConfigPart.objects.filter(data_plane__in=planes).exclude(held=None)
    for plane, team in rows.order_by("team").values_list("data_plane_id", "team"):
        found[plane].append(team)
    return found


def generations_in_force(row: AgentConfig) -> set[int]:
    """Generations of a document that some data plane is given, or may be given again."""
    parts = AgentConfigPart.objects.filter(team=row.team).values_list("documents", flat=True)
    name = [row.source, row.team, row.name]
    return {one[3] for documents in parts for one in documents if one[:3] == name}


def documents_held() -> set[DocumentId]:
    """Documents of teams whose change waits: they stay in force even if they were deleted."""
    parts = AgentConfigPart.objects.exclude(held=None).values_list("documents", flat=True)
    return {serialization.read_document_id(one[:3]) for documents in parts for one in documents}


def _references(plane: DataPlane, active: Bundle | None) -> dict[str, list[Reference]]:
    rows = AgentConfigPart.objects.filter(data_plane=plane).values_list("team", "documents")
    found = {
        team: [(serialization.read_document_id(one[:3]), one[3]) for one in documents]
        for team, documents in rows
        if takes(plane, team)
    }
    if found or active is None:
        return found
    # A bundle from before parts were remembered.
    inputs: defaultdict[str, list[Reference]] = defaultdict(list)
    for one in active.inputs:
        if takes(plane, one.document.namespace):
            inputs[one.document.namespace].append((one.document, one.generation))
    return dict(inputs)


def _older(wanted: Collection[Reference]) -> dict[Reference, Published]:
    """Documents as they were in an older generation."""
    if not wanted:
        return {}
    names = {one for one, _ in wanted}
    rows = AgentConfig.objects.filter(
        team__in={one.namespace for one in names}, name__in={one.name for one in names}
    ).defer("text", "content", "diagnostics")
    by_key = {row.id: row for row in rows if row.document_id in names}
    teams = PublishingTeam.objects.filter(name__in={one.namespace for one in names})
    organisations = dict(teams.values_list("name", "organisation"))
    numbers = {number for _, number in wanted}
    found = {}
    for one in AgentConfigGeneration.objects.filter(document_id__in=by_key, number__in=numbers):
        row = by_key[one.document_id]
        if (reference := (row.document_id, one.number)) in wanted:
            found[reference] = _published(row, one, organisations.get(row.team, ""))
    for document, number in wanted - found.keys():
        log.warning("agent_configs.generation_gone", document=str(document), generation=number)
    return found


def _published(row: AgentConfig, one: AgentConfigGeneration, organisation: str) -> Published:
    is_old = one.facts is None
    return Published(
        row.document_id,
        row.team,
        one.number,
        serialization.read_content(one.content),
        row.created_at,
        serialization.read_facts(row.facts if is_old else one.facts),
        serialization.read_canary(row.canary if is_old else one.canary),
        organisation,
    )


def _held(plane: DataPlane, found: HeldPart, before: dict[str, Any] | None) -> dict[str, Any]:
    """As it is stored; with an event if it is new."""
    held = {
        "digest": found.digest,
        "reasons": [{"gate": one.gate.value, "message": one.message} for one in found.reasons],
        "changes": list(found.changes[:_TOLD]),
    }
    if before and held == {name: before[name] for name in held}:
        return before
    reason = {"gate": found.reasons[0].gate.value, "message": found.reasons[0].message}
    data = {"data_plane": plane.name, "team": found.team, "digest": found.digest, **reason}
    event_log.append(PART_HELD, "publishing_team", found.team, data=data, actor="system:agent_configs")
    return {**held, "since": database_now().isoformat()}


def _write(rows: Iterable[AgentConfigPart]) -> None:
    changed = list(rows)
    kept = [one for one in changed if one.documents or one.held]
    AgentConfigPart.objects.bulk_create(
        kept,
        batch_size=1000,
        update_conflicts=True,
        unique_fields=("data_plane", "team"),
        update_fields=("documents", "held"),
    )
    gone = [one.id for one in changed if one.id and not (one.documents or one.held)]
    AgentConfigPart.objects.filter(id__in=gone).delete()
