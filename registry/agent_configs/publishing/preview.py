"""What would happen: the very recompute, of which nothing is kept."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime

from controlplane.database.clock import database_now
from registry.agent_configs.bundles.compute import Recomputed, recompute
from registry.agent_configs.bundles.differences import seen_by, summary
from registry.agent_configs.bundles.gates import Held, veiled
from registry.agent_configs.bundles.rendering import digest
from registry.agent_configs.documents.published import DocumentId, Published
from registry.agent_configs.documents.reading import Reading
from registry.agent_configs.models import DataPlane, PublishingTeam
from registry.agent_configs.publishing.read_request import read
from registry.agent_configs.publishing.statuses import Standing, standings
from registry.agent_configs.reachability.outcomes import load_outcomes, probe_of
from registry.agent_configs.storage.load_documents import Document, load_documents
from registry.agent_configs.storage.load_inputs import load_ownership, load_world


@dataclass(frozen=True, slots=True)
class Change:
    """A document that somebody thinks of publishing; without a text, of taking away."""

    id: DocumentId
    text: str | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """One data plane afterwards. standings: of the documents that were asked about."""

    data_plane: str
    digest: str
    changes: tuple[str, ...]
    held: tuple[Held, ...]
    standings: dict[DocumentId, Standing]

    @property
    def is_affected(self) -> bool:
        return bool(self.changes)


@dataclass(frozen=True, slots=True)
class Preview:
    """readings: of the documents with a text. A document that is not valid changes nothing."""

    readings: dict[DocumentId, Reading]
    outcomes: tuple[Outcome, ...]


def preview(changes: Sequence[Change], *, hidden: Set[str] = frozenset()) -> Preview:
    """All changes together, in every data plane. hidden: teams of which the reader is told nothing."""
    now = database_now()
    readings = {
        change.id: read(change.text, source="preview") for change in changes if change.text is not None
    }
    documents = _with(load_documents(now=now), changes, readings, now=now)
    ownership = load_ownership()
    changed_ids = {change.id for change in changes}
    outcomes = []
    for plane in DataPlane.objects.order_by("name"):
        loaded = load_world(plane, documents, ownership, now=now)
        result = recompute(loaded.world, now=now)
        difference = seen_by(result.difference, loaded.world.active, result.bundle, hidden)
        about = replace(
            loaded, documents=tuple(document for document in loaded.documents if document.id in changed_ids)
        )
        outcomes.append(
            Outcome(
                plane.name,
                digest(result.bundle),
                summary(difference),
                _held(result, hidden, {change.id.namespace for change in changes}),
                standings(plane, about, result, result.bundle),
            )
        )
    return Preview(readings, tuple(outcomes))


def _held(result: Recomputed, hidden: Set[str], teams: Set[str]) -> tuple[Held, ...]:
    """What would hold everything, and what would hold the parts of the teams that were asked about."""
    parts = (held_part for held_part in result.division.held if held_part.team in teams)
    reasons = (why for held_part in parts for why in held_part.reasons)
    return (*(veiled(result.held) if hidden else result.held), *reasons)


def _with(
    documents: list[Document],
    changes: Sequence[Change],
    readings: dict[DocumentId, Reading],
    *,
    now: datetime,
) -> list[Document]:
    by_id = {document.id: document for document in documents}
    outcomes = load_outcomes()
    organisations = dict(PublishingTeam.objects.values_list("name", "organisation"))
    for change in changes:
        reading = readings.get(change.id)
        if reading is None:
            by_id.pop(change.id, None)
        elif reading.content is not None:
            before = by_id.get(change.id)
            new = _published(change.id, reading, before, organisations.get(change.id.namespace, ""), now)
            by_id[change.id] = replace(new, probe=probe_of(reading.content, outcomes))
    return list(by_id.values())


def _published(
    name: DocumentId, reading: Reading, before: Document | None, organisation: str, now: datetime
) -> Document:
    generation = before.generation + 1 if before else 1
    if before:
        published = replace(before.published, content=reading.content, generation=generation)
    else:
        published = Published(
            name, name.namespace, generation, reading.content, now, organisation=organisation
        )
    return Document(before.key if before else None, published, generation, reading)
