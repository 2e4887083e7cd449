"""Preview changes with the same recompute, without storing anything."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime

from controlplane.access.organisations import of_all_organisations
from controlplane.database.clock import database_now
from controlplane.identity.callers import Caller
from registry.agent_configs.bundles.compute import RecomputeResult, recompute
from registry.agent_configs.bundles.differences import redact_difference, summarize_difference
from registry.agent_configs.bundles.gates import Hold, redact_holds
from registry.agent_configs.bundles.rendering import bundle_digest
from registry.agent_configs.documents.published import DocumentId, PublishedDocument
from registry.agent_configs.documents.reading import Reading
from registry.agent_configs.models import DataPlane
from registry.agent_configs.owners import organisations
from registry.agent_configs.publishing.hidden_teams import (
    HiddenTeams,
    hidden_teams,
    planes_with_visible_names,
)
from registry.agent_configs.publishing.read_request import read_text
from registry.agent_configs.publishing.statuses import DocumentStatus, build_statuses
from registry.agent_configs.reachability.outcomes import load_outcomes, probe_of
from registry.agent_configs.storage.load_documents import LoadedDocument, load_documents
from registry.agent_configs.storage.load_inputs import load_inputs, load_ownership


@dataclass(frozen=True, slots=True)
class PreviewChange:
    """A document to publish in the preview, or to delete if it has no text."""

    id: DocumentId
    text: str | None


@dataclass(frozen=True, slots=True)
class DataPlaneOutcome:
    """One data plane after the changes. statuses: of the previewed documents."""

    data_plane: str
    digest: str
    changes: tuple[str, ...]
    holds: tuple[Hold, ...]
    statuses: dict[DocumentId, DocumentStatus]

    @property
    def is_affected(self) -> bool:
        return bool(self.changes)


@dataclass(frozen=True, slots=True)
class Preview:
    """The result of a preview. readings: of documents with a text. An invalid document changes nothing."""

    readings: dict[DocumentId, Reading]
    outcomes: tuple[DataPlaneOutcome, ...]


@of_all_organisations()
def preview_changes(changes: Sequence[PreviewChange], caller: Caller) -> Preview:
    """Preview all changes together in every data plane whose name the caller may see."""
    now, hidden = database_now(), hidden_teams(caller)
    readings = {
        change.id: read_text(change.text, source="preview") for change in changes if change.text is not None
    }
    documents = _apply_changes(load_documents(now=now), changes, readings, now=now)
    ownership = load_ownership()
    changed_ids = {change.id for change in changes}
    outcomes = []
    named = planes_with_visible_names(caller, "team")
    for plane in DataPlane.objects.filter(named).order_by("name"):
        loaded = load_inputs(plane, documents, ownership, now=now)
        result = recompute(loaded.inputs, now=now)
        difference = redact_difference(result.difference, loaded.inputs.active, result.bundle, hidden)
        about = replace(
            loaded, documents=tuple(document for document in loaded.documents if document.id in changed_ids)
        )
        outcomes.append(
            DataPlaneOutcome(
                plane.name,
                bundle_digest(result.bundle),
                summarize_difference(difference),
                _find_holds(result, hidden, {change.id.namespace for change in changes}),
                build_statuses(plane, about, result, result.bundle),
            )
        )
    return Preview(readings, tuple(outcomes))


def _find_holds(result: RecomputeResult, hidden: HiddenTeams, teams: Set[str]) -> tuple[Hold, ...]:
    """Return the holds on the bundle and on the parts of the previewed teams."""
    parts = (held_part for held_part in result.division.held_parts if held_part.team in teams)
    reasons = (why for held_part in parts for why in held_part.reasons)
    return (*(redact_holds(result.holds) if hidden else result.holds), *reasons)


def _apply_changes(
    documents: list[LoadedDocument],
    changes: Sequence[PreviewChange],
    readings: dict[DocumentId, Reading],
    *,
    now: datetime,
) -> list[LoadedDocument]:
    by_id = {document.id: document for document in documents}
    outcomes = load_outcomes()
    organisation_by_team = organisations()
    for change in changes:
        reading = readings.get(change.id)
        if reading is None:
            by_id.pop(change.id, None)
        elif reading.content is not None:
            before = by_id.get(change.id)
            new = _build_document(
                change.id, reading, before, organisation_by_team.get(change.id.namespace, ""), now
            )
            by_id[change.id] = replace(new, probe=probe_of(reading.content, outcomes))
    return list(by_id.values())


def _build_document(
    name: DocumentId, reading: Reading, before: LoadedDocument | None, organisation: str, now: datetime
) -> LoadedDocument:
    generation = before.generation + 1 if before else 1
    if before:
        published = replace(before.published, content=reading.content, generation=generation)
    else:
        published = PublishedDocument(
            name, name.namespace, generation, reading.content, now, organisation=organisation
        )
    return LoadedDocument(before.key if before else None, published, generation, reading)
