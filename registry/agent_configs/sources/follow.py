"""Sources that are read again and again: what changed is published, what is gone goes, the last good stays.

Each document is read by itself, so a bad one keeps its last good generation and affects no other. What cannot
be read removes nothing. A team that lost more than half of its documents keeps them until somebody confirms
the removal. So do all lost teams of a source that lost more than half of its teams, because an incomplete
mount, checkout or listing looks like that. Other teams of the source are followed meanwhile.
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
from controlplane.identity.actors import Actor
from registry.agent_configs.documents.published import DocumentId
from registry.agent_configs.models import AgentConfig
from registry.agent_configs.publishing.publish import Wanted, delete_document, put_document
from registry.agent_configs.publishing.recompute import recompute_all
from registry.agent_configs.source_models import SourceRow

OFF, CURRENT, FAILING, AWAITING = STATES = ("off", "current", "failing", "awaiting_confirmation")
_TOLD = 200
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Source:
    """Where documents come from, who publishes them, and what is told of it."""

    name: str
    rows: type[SourceRow]
    object_type: str
    actor: Actor
    loaded: EventType
    refused: EventType
    confirmed: EventType


@dataclass(frozen=True, slots=True)
class Found:
    """What a look at a source showed.

    unsettled: documents that are there, or went a moment ago; problems: what is no document; unread: teams
    whose documents could not be looked for, and why; created_at: where the source knows it.
    """

    texts: Mapping[DocumentId, str]
    unsettled: frozenset[DocumentId] = frozenset()
    problems: tuple[str, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    created_at: Mapping[DocumentId, datetime] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[DocumentId]:
        return frozenset(self.texts) | self.unsettled

    @property
    def digest(self) -> str:
        return digest_of_names(self.names)

    def missing(self, known: Mapping[DocumentId, str]) -> list[DocumentId]:
        """What is known and was looked for in vain."""
        return sorted(one for one in known.keys() - self.names if one.namespace not in self.unread)


def state_of(row: SourceRow) -> str:
    if not row.is_synced:
        return FAILING
    return AWAITING if row.pending else CURRENT


def known_documents(source: Source) -> dict[DocumentId, str]:
    """What is published from there, with the digests."""
    rows = AgentConfig.objects.filter(source=source.name, deleted_at=None)
    return {one.document_id: one.digest for one in rows.defer("text", "content")}


def follow(source: Source, found: Found) -> str:
    """Publish what changed, within the caller's transaction. Returns the state."""
    lock_publishing()
    row = _locked(source)
    known = known_documents(source)
    gone = found.missing(known)
    waits = removals_to_confirm(gone, known)
    if row.confirmed_digest == digest_of_names(waits):
        waits = frozenset()
    problems = [*found.problems, *dict.fromkeys(found.unread.values())]
    for document, text in found.texts.items():
        if known.get(document) != sha256(text.encode()).hexdigest():
            wanted = Wanted(document, text, created_at=found.created_at.get(document))
            problems += _publish(source, wanted)
    for document in gone:
        if document not in waits:
            delete_document(document, actor=source.actor, one_of_many=True)
    # Once for all that changed: taken one by one, no gate would notice that most of it goes.
    recompute_all(source.actor)
    told = [str(one) for one in sorted(waits)[:_TOLD]]
    pending = {"digest": digest_of_names(waits), "documents": told} if waits else None
    return _note(source, row, found, problems[:_TOLD], pending)


def fail(source: Source, reason: str) -> str:
    """Note that the source cannot be read: everything stays as it is."""
    row = _locked(source)
    if row.is_synced or row.problems != [reason]:
        _tell(source, source.refused, {"reason": reason})
        log.warning("agent_config_source.unreadable", source=source.name, reason=reason)
    row.is_synced, row.problems = False, [reason]
    row.save(update_fields=["is_synced", "problems"])
    return FAILING


@transaction.atomic
def confirm_removal(source: Source, digest: str, *, actor: Actor) -> None:
    """Let exactly these documents go. Raises UnknownVersion if no such removal waits."""
    row = _locked(source)
    if not row.pending or row.pending["digest"] != digest:
        raise UnknownVersion("No removal with this digest waits for a confirmation.")
    row.confirmed_digest = digest
    row.save(update_fields=["confirmed_digest"])
    said = {"digest": digest}
    audit.record(
        source.confirmed,
        source.object_type,
        digest,
        actor=actor,
        before=None,
        after={**said, "documents": row.pending["documents"]},
        data=said,
    )


def _locked(source: Source) -> SourceRow:
    return source.rows._default_manager.select_for_update().get(id=1)


def _publish(source: Source, wanted: Wanted) -> list[str]:
    """One document's fault is its own: whatever goes wrong with it, the others are read."""
    name = f"{wanted.id.namespace}/{wanted.id.name}"
    try:
        with transaction.atomic():
            put_document(wanted, actor=source.actor, refuse=False, one_of_many=True)
    except ControlplaneError as error:
        return [f"{name}: {error.detail}"]
    except Exception as error:
        log.error("agent_config_source.unforeseen", document=str(wanted.id), exc_info=error)
        return [f"{name}: it could not be read. The log has the cause."]
    return []


def removals_to_confirm(gone: Collection[DocumentId], known: Collection[DocumentId]) -> frozenset[DocumentId]:
    """Of the documents that a source no longer has, those that stay until somebody confirms the removal."""
    before = Counter(one.namespace for one in known)
    lost = Counter(one.namespace for one in gone)
    teams = {team for team, number in lost.items() if _is_too_much(number, before[team])}
    vanished = {team for team, number in lost.items() if number == before[team]}
    if _is_too_much(len(vanished), len(before)):
        teams |= vanished
    return frozenset(one for one in gone if one.namespace in teams)


def digest_of_names(documents: Iterable[DocumentId]) -> str:
    """What is confirmed is which documents are removed."""
    return sha256("\n".join(sorted(map(str, documents))).encode()).hexdigest()


def _is_too_much(gone: int, known: int) -> bool:
    share = settings.AGENT_CONFIGS_REMOVAL_PERCENT / 100
    return gone >= settings.AGENT_CONFIGS_REMOVAL_COUNT and gone > share * known


def _note(
    source: Source, row: SourceRow, found: Found, problems: list[str], pending: dict[str, Any] | None
) -> str:
    reasons = list(found.unread.values())
    if pending and row.pending != pending:
        _tell(source, source.refused, {"reason": f"{len(pending['documents'])} documents would go."})
    if reasons and (row.is_synced or row.problems != problems):
        _tell(source, source.refused, {"reason": reasons[0]})
    if not reasons and (not row.is_synced or row.loaded_at is None or row.digest != found.digest):
        _tell(source, source.loaded, {"digest": found.digest})
    if problems and problems != row.problems:
        log.warning("agent_config_source.problems", source=source.name, problems=problems[:5])
    row.is_synced, row.digest, row.problems, row.pending = not reasons, found.digest, problems, pending
    if not pending:
        row.confirmed_digest = ""
    row.checked_at = Now()
    if not reasons:
        row.loaded_at = Now()
    row.save()
    return state_of(row)


def _tell(source: Source, kind: EventType, data: dict[str, Any]) -> None:
    audit.record(
        kind, source.object_type, source.name, actor=source.actor, before=None, after=data, data=data
    )
