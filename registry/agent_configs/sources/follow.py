"""Follow a source: publish changed documents, delete removed ones, keep the last good generation.

Each document is read separately, so an invalid one keeps its last good generation and affects no other.
Unreadable sources remove nothing. If a team loses more than half of its documents, they stay until an
administrator confirms the removal. If a source loses more than half of its teams, all lost teams stay,
because an incomplete mount, checkout or listing looks the same. Other teams are followed meanwhile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from controlplane.access import audit
from controlplane.database.locks import lock_publishing
from controlplane.errors import ControlplaneError, UnknownVersion
from controlplane.events.types import EventType
from controlplane.formats.counts import counted
from controlplane.identity.actors import Actor
from registry.agent_configs.documents.published import DocumentId
from registry.agent_configs.models import AgentConfig
from registry.agent_configs.publishing.publish import DocumentSpec, delete_document, put_document
from registry.agent_configs.publishing.recompute import recompute_all
from registry.agent_configs.source_models import SourceRow

OFF, CURRENT, FAILING, AWAITING = STATES = ("off", "current", "failing", "awaiting_confirmation")
MAX_REPORTED = 200
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Source:
    """A followed source: its table, actor and event types. key: of its row."""

    name: str
    rows: type[SourceRow]
    object_type: str
    actor: Actor
    loaded: EventType
    refused: EventType
    confirmed: EventType
    key: int | str = 1

    def row(self) -> SourceRow:
        return self.rows._default_manager.get(pk=self.key)


@dataclass(frozen=True, slots=True)
class SourceListing:
    """The documents found in a source.

    unsettled: documents that exist or were removed a moment ago; problems: entries that are no documents;
    unreadable_teams: teams whose documents could not be listed, with the reason; created_at: if known.
    """

    texts: Mapping[DocumentId, str]
    unsettled: frozenset[DocumentId] = frozenset()
    problems: tuple[str, ...] = ()
    unreadable_teams: Mapping[str, str] = field(default_factory=dict)
    created_at: Mapping[DocumentId, datetime] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[DocumentId]:
        return frozenset(self.texts) | self.unsettled

    @property
    def digest(self) -> str:
        return documents_digest(self.names)

    def missing(self, published: Mapping[DocumentId, str]) -> list[DocumentId]:
        """Return published documents that are missing from the source."""
        return sorted(
            document_id
            for document_id in published.keys() - self.names
            if document_id.namespace not in self.unreadable_teams
        )


def source_state(row: SourceRow) -> str:
    if not row.is_synced:
        return FAILING
    return AWAITING if row.pending else CURRENT


def load_published_digests(source: Source) -> dict[DocumentId, str]:
    """Load the digests of all documents published from the source."""
    rows = AgentConfig.objects.filter(source=source.name, deleted_at=None)
    return {row.document_id: row.digest for row in rows.defer("text", "content")}


def follow(source: Source, listing: SourceListing) -> str:
    """Publish changes within the caller's transaction and return the state."""
    lock_publishing()
    row = _lock_row(source)
    published = load_published_digests(source)
    gone = listing.missing(published)
    waits = find_removals_to_confirm(gone, published)
    if row.confirmed_digest == documents_digest(waits):
        waits = frozenset()
    problems = [*listing.problems, *dict.fromkeys(listing.unreadable_teams.values())]
    for document, text in listing.texts.items():
        if published.get(document) != sha256(text.encode()).hexdigest():
            spec = DocumentSpec(document, text, created_at=listing.created_at.get(document))
            problems += _publish(source, spec)
    for document in gone:
        if document not in waits:
            delete_document(document, actor=source.actor, in_batch=True)
    # Once for all changes: one by one, no gate would detect a large removal.
    recompute_all(source.actor)
    names = [str(document_id) for document_id in sorted(waits)[:MAX_REPORTED]]
    pending = {"digest": documents_digest(waits), "documents": names} if waits else None
    return _store_result(source, row, listing, problems[:MAX_REPORTED], pending)


def record_failure(source: Source, reason: str) -> str:
    """Record that the source cannot be read; its documents stay."""
    row = _lock_row(source)
    if row.is_synced or row.problems != [reason]:
        _record_event(source, source.refused, {"reason": reason})
        log.warning("agent_config_source.unreadable", source=source.name, reason=reason)
    row.is_synced, row.problems = False, [reason]
    row.save(update_fields=["is_synced", "problems"])
    return FAILING


@transaction.atomic
def confirm_removal(source: Source, digest: str, *, actor: Actor) -> None:
    """Confirm the removal of exactly these documents. Raises UnknownVersion if it is not pending."""
    row = _lock_row(source)
    if not row.pending or row.pending["digest"] != digest:
        raise UnknownVersion(
            "No removal with this digest is pending. Read the source for the current digest."
        )
    row.confirmed_digest = digest
    row.save(update_fields=["confirmed_digest"])
    data = {"digest": digest}
    audit.record(
        source.confirmed,
        source.object_type,
        digest,
        actor=actor,
        before=None,
        after={**data, "documents": row.pending["documents"]},
        data=data,
    )


def _lock_row(source: Source) -> SourceRow:
    return source.rows._default_manager.select_for_update().get(pk=source.key)


def _publish(source: Source, spec: DocumentSpec) -> list[str]:
    """Publish one document and return its problems; an error affects no other document."""
    name = f"{spec.id.namespace}/{spec.id.name}"
    try:
        with transaction.atomic():
            put_document(spec, actor=source.actor, reject_invalid=False, in_batch=True)
    except ControlplaneError as error:
        return [f"{name}: {error.detail}"]
    except Exception as error:
        log.error("agent_config_source.unforeseen", document=str(spec.id), exc_info=error)
        return [f"{name}: the document could not be processed. See the server log for the cause."]
    return []


def find_removals_to_confirm(
    gone: Collection[DocumentId], published: Collection[DocumentId]
) -> frozenset[DocumentId]:
    """Return the removed documents that stay until the removal is confirmed."""
    before = Counter(document_id.namespace for document_id in published)
    lost = Counter(document_id.namespace for document_id in gone)
    teams = {team for team, number in lost.items() if _removes_too_much(number, before[team])}
    vanished = {team for team, number in lost.items() if number == before[team]}
    if _removes_too_much(len(vanished), len(before)):
        teams |= vanished
    return frozenset(document_id for document_id in gone if document_id.namespace in teams)


def documents_digest(documents: Iterable[DocumentId]) -> str:
    """Return the digest of a set of documents, by which their removal is confirmed."""
    return sha256("\n".join(sorted(map(str, documents))).encode()).hexdigest()


def _removes_too_much(gone: int, total: int) -> bool:
    share = settings.AGENT_CONFIGS_REMOVAL_PERCENT / 100
    return gone >= settings.AGENT_CONFIGS_REMOVAL_COUNT and gone > share * total


def _store_result(
    source: Source,
    row: SourceRow,
    listing: SourceListing,
    problems: list[str],
    pending: dict[str, Any] | None,
) -> str:
    reasons = list(listing.unreadable_teams.values())
    if pending and row.pending != pending:
        _record_event(
            source,
            source.refused,
            {"reason": f"{counted(len(pending['documents']), 'document')} would be removed."},
        )
    if reasons and (row.is_synced or row.problems != problems):
        _record_event(source, source.refused, {"reason": reasons[0]})
    if not reasons and (not row.is_synced or row.loaded_at is None or row.digest != listing.digest):
        _record_event(source, source.loaded, {"digest": listing.digest})
    if problems and problems != row.problems:
        log.warning("agent_config_source.problems", source=source.name, problems=problems[:5])
    row.is_synced, row.digest, row.problems, row.pending = not reasons, listing.digest, problems, pending
    if not pending:
        row.confirmed_digest = ""
    row.checked_at = Now()
    if not reasons:
        row.loaded_at = Now()
    row.save()
    return source_state(row)


def _record_event(source: Source, kind: EventType, data: dict[str, Any]) -> None:
    audit.record(
        kind, source.object_type, source.name, actor=source.actor, before=None, after=data, data=data
    )
