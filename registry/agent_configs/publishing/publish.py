"""Publish documents and take them away: checked, stored, audited and told in one transaction."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from controlplane.access import audit
from controlplane.database.clock import database_now
from controlplane.database.locks import try_lock_publishing
from controlplane.errors import (
    FieldError,
    InvalidAgentConfig,
    InvalidRequest,
    UnknownAgentConfig,
    VersionMismatch,
)
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.preconditions import Precondition, check
from registry.agent_configs import serialization
from registry.agent_configs.bundles.generations import is_flapping
from registry.agent_configs.documents.published import Canary, DocumentId, Facts
from registry.agent_configs.documents.reading import Reading
from registry.agent_configs.event_types import CONFIG_PUBLISHED, CONFIG_REMOVED
from registry.agent_configs.models import DOCUMENT_LENGTH, AgentConfig, AgentConfigGeneration
from registry.agent_configs.publishing.quarantine import keep_as_it_was, readmit_fixed
from registry.agent_configs.publishing.quotas import (
    check_bytes,
    check_documents,
    check_pace,
    spend_change,
    takes_effect_at_once,
)
from registry.agent_configs.publishing.read_request import read
from registry.agent_configs.publishing.recompute import recompute_all
from registry.agent_configs.publishing.teams import check_team_name, hidden_teams
from registry.agent_configs.storage import policies
from registry.agent_configs.storage.team_parts import documents_held, generations_in_force

API, FOLDER, KUBERNETES = "api", "folder", "kubernetes"
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_CHANGES_KEPT = 100


@dataclass(frozen=True, slots=True)
class Wanted:
    """A document as somebody wants it to be published. created_at: where its source knows it."""

    id: DocumentId
    text: str
    facts: Mapping[str, Facts] = field(default_factory=dict)
    canary: Canary | None = None
    created_at: datetime | None = None


@transaction.atomic
def put_document(
    wanted: Wanted,
    *,
    actor: Actor,
    precondition: Precondition | None = None,
    refuse: bool = True,
    one_of_many: bool = False,
) -> tuple[AgentConfig, bool]:
    """Publish a document, or a new generation of it. Returns it and whether it is new.

    refuse: raise InvalidAgentConfig if it is not valid; else it is stored, and the last good generation
    is served on. one_of_many: whoever changes many has taken the lock, and recomputes once afterwards.
    Raises InvalidRequest, LimitReached, TooManyAttempts, VersionMismatch, VersionRequired.
    """
    _check_name(wanted.id)
    team = wanted.id.namespace
    check_pace(team)
    reading = read(wanted.text, source=wanted.id.source)
    if refuse and reading.errors:
        raise invalid(reading)
    at_once = not one_of_many and takes_effect_at_once(team, len(wanted.text)) and try_lock_publishing()
    row = _locked(wanted.id)
    standing = row if row and row.deleted_at is None else None
    check(precondition, standing.generation if standing else None)
    if standing and _says(standing, wanted):
        return standing, False
    if standing is None:
        check_documents(wanted.id)
    if reading.content is not None:
        check_bytes(wanted.id, wanted.text, before=len(standing.text.encode()) if standing else 0)
    spend_change(team)
    saved = _store(row, standing, wanted, reading, actor)
    if at_once:
        recompute_all(actor)
    return saved, standing is None


@transaction.atomic
def delete_document(
    document: DocumentId,
    *,
    actor: Actor,
    precondition: Precondition | None = None,
    one_of_many: bool = False,
) -> None:
    """Delete a document. Its claims are remembered for a while. Raises UnknownAgentConfig, TooManyAttempts.

    A source's documents go without a limit: what it no longer has must not stay because there is much of it.
    """
    if not one_of_many:
        check_pace(document.namespace)
    at_once = not one_of_many and takes_effect_at_once(document.namespace) and try_lock_publishing()
    row = _locked(document)
    if row is None or row.deleted_at is not None:
        raise UnknownAgentConfig(f"There is no document {str(document)[:200]!r}.")
    check(precondition, row.generation)
    if not one_of_many:
        spend_change(document.namespace)
    before = shown(row)
    row.deleted_at = row.changed_at = database_now()
    row.text, row.content, row.diagnostics, row.generation = "", None, [], row.generation + 1
    row.content_generation, row.changed_by = 0, actor.name
    row.save()
    _record(CONFIG_REMOVED, document, actor, before=before, after=None)
    if at_once:
        recompute_all(actor)


def get_document(document: DocumentId) -> AgentConfig:
    """Raises UnknownAgentConfig."""
    row = AgentConfig.objects.filter(
        source=document.source, team=document.namespace, name=document.name, deleted_at=None
    ).first()
    if row is None:
        raise UnknownAgentConfig(f"There is no document {str(document)[:200]!r}.")
    return row


def visible_document(document: DocumentId, caller: Caller) -> AgentConfig:
    """Raises UnknownAgentConfig, also for one that the caller may not see."""
    if document.namespace in hidden_teams(caller):
        raise UnknownAgentConfig(f"There is no document {str(document)[:200]!r}.")
    return get_document(document)


def forget_tombstones(*, now: datetime) -> int:
    """Forget documents that went so long ago that nothing remembers their claims, and none is in force."""
    until = now - policies.grace() - timedelta(hours=1)
    old = AgentConfig.objects.filter(deleted_at__lt=until)
    names = documents_held()
    kept = [row.id for row in old.defer("text", "content") if row.document_id in names] if names else []
    return old.exclude(id__in=kept).delete()[0]


def invalid(reading: Reading) -> InvalidAgentConfig:
    """Everything that is wrong with a document, as an error of the API."""
    found = [
        FieldError(one.path, one.code.value, one.message, one.hint, (), one.line, one.column)
        for one in reading.errors
    ]
    return InvalidAgentConfig(
        f"{len(found)} mistakes. The first: {found[0].message}" if len(found) > 1 else found[0].message,
        errors=found,
        diagnostics=[serialization.write_diagnostic(one) for one in reading.diagnostics],
        omitted=reading.omitted,
    )


def shown(row: AgentConfig) -> dict[str, Any]:
    """As the audit log has it. The text is the team's to keep; its digest says which it was."""
    return {
        "source": row.source,
        "team": row.team,
        "name": row.name,
        "generation": row.generation,
        "digest": row.digest,
        "is_valid": row.is_valid,
        "facts": row.facts,
        "canary": row.canary,
    }


def _check_name(document: DocumentId) -> None:
    check_team_name(document.namespace, "/team")
    legal = document.source == FOLDER or _NAME.fullmatch(document.name)
    if not legal or len(document.name) > DOCUMENT_LENGTH:
        message = f"A document's name has letters, digits and inner . _ -, {DOCUMENT_LENGTH} at most."
        raise InvalidRequest(message, errors=[FieldError("/name", "malformed", message)])


def _locked(document: DocumentId) -> AgentConfig | None:
    rows = AgentConfig.objects.select_for_update()
    return rows.filter(source=document.source, team=document.namespace, name=document.name).first()


def _says(row: AgentConfig, wanted: Wanted) -> bool:
    return (row.text, row.facts, row.canary) == (
        wanted.text,
        _facts(wanted),
        serialization.write_canary(wanted.canary),
    )


def _facts(wanted: Wanted) -> dict[str, Any]:
    return {name: asdict(one) for name, one in wanted.facts.items()}


def _store(
    row: AgentConfig | None, standing: AgentConfig | None, wanted: Wanted, reading: Reading, actor: Actor
) -> AgentConfig:
    now = database_now()
    before = shown(standing) if standing else None
    name = wanted.id
    row = row or AgentConfig(source=name.source, team=name.namespace, name=name.name, generation=0)
    if standing is None:
        # A source's clock makes a document older, and never younger than now.
        row.created_at = min(now, wanted.created_at or now)
        row.content, row.content_generation, row.deleted_at = None, 0, None
    was_valid, last_good = row.is_valid, row.content_generation
    row.generation += 1
    row.text, row.digest = wanted.text, sha256(wanted.text.encode()).hexdigest()
    row.facts, row.canary = _facts(wanted), serialization.write_canary(wanted.canary)
    row.changed_at, row.changed_by = now, actor.name
    _note_reading(row, reading, now, was_valid=was_valid)
    row.recent_changes = [*row.recent_changes, now.isoformat()][-_CHANGES_KEPT:]
    _save(row)
    if row.is_valid:
        _keep_generation(row)
        readmit_fixed(row, actor)
    changes = [datetime.fromisoformat(one) for one in row.recent_changes]
    if is_flapping(changes, patience=policies.patience(), now=now):
        keep_as_it_was(row, last_good, now=now)
    data = {"generation": row.generation, "valid": row.is_valid}
    _record(CONFIG_PUBLISHED, name, actor, before=before, after=shown(row), **data)
    return row


def _note_reading(row: AgentConfig, reading: Reading, now: datetime, *, was_valid: bool) -> None:
    row.diagnostics = [serialization.write_diagnostic(one) for one in reading.diagnostics]
    row.is_parsed, row.is_valid = reading.parsed, reading.content is not None
    if reading.content is not None:
        row.content, row.content_generation = serialization.write_content(reading.content), row.generation
        row.content_seen_at = now
    elif was_valid:
        row.content_seen_at = now


def _save(row: AgentConfig) -> None:
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        raise VersionMismatch(
            "Somebody else published it at this moment. Read it, and decide again."
        ) from error


def _keep_generation(row: AgentConfig) -> None:
    AgentConfigGeneration.objects.create(
        document=row, number=row.generation, content=row.content, facts=row.facts, canary=row.canary
    )
    oldest = row.generation - settings.AGENT_CONFIGS_GENERATIONS_KEPT
    old = AgentConfigGeneration.objects.filter(document=row, number__lte=oldest)
    # What is served in place of the latest must outlive it.
    kept = {*row.quarantines.values_list("fallback", flat=True), *generations_in_force(row)}
    old.exclude(number__in=kept).delete()


def _record(
    event_type: EventType,
    document: DocumentId,
    actor: Actor,
    *,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    **data: Any,
) -> None:
    name = {"source": document.source, "team": document.namespace, "name": document.name}
    audit.record(
        event_type,
        "agent_config",
        str(document),
        actor=actor,
        before=before,
        after=after,
        data={**name, **data},
    )
