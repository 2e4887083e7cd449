"""Publish and delete documents: check, store, audit and append events in one transaction."""

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
from controlplane.access.teams.teams import check_team_name
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
from registry.agent_configs.documents.published import Canary, DocumentId, TaskTypeFacts
from registry.agent_configs.documents.reading import Reading
from registry.agent_configs.event_types import CONFIG_PUBLISHED, CONFIG_REMOVED
from registry.agent_configs.models import DOCUMENT_LENGTH, AgentConfig, AgentConfigGeneration
from registry.agent_configs.owners import owner_of
from registry.agent_configs.publishing.hidden_teams import hidden_teams
from registry.agent_configs.publishing.quarantine import quarantine_flapping, readmit_fixed
from registry.agent_configs.publishing.quotas import (
    check_bytes,
    check_change_rate,
    check_documents,
    spend_change,
    takes_effect_at_once,
)
from registry.agent_configs.publishing.read_request import read_text
from registry.agent_configs.publishing.recompute import recompute_all
from registry.agent_configs.storage import policies
from registry.agent_configs.storage.team_parts import generations_in_force, load_held_documents

API, FOLDER, KUBERNETES = "api", "folder", "kubernetes"
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_MAX_RECENT_CHANGES = 100


@dataclass(frozen=True, slots=True)
class DocumentSpec:
    """A document to publish. created_at: if the source knows it."""

    id: DocumentId
    text: str
    facts: Mapping[str, TaskTypeFacts] = field(default_factory=dict)
    canary: Canary | None = None
    created_at: datetime | None = None


@transaction.atomic
def put_document(
    spec: DocumentSpec,
    *,
    actor: Actor,
    precondition: Precondition | None = None,
    reject_invalid: bool = True,
    in_batch: bool = False,
) -> tuple[AgentConfig, bool]:
    """Publish a document or a new generation of it. Return it, and whether it is new.

    reject_invalid: raise InvalidAgentConfig for an invalid document; otherwise store it and keep serving
    the last good generation. in_batch: the caller holds the lock and recomputes after all changes.
    Raises InvalidRequest, LimitReached, TooManyAttempts, VersionMismatch, VersionRequired.
    """
    _check_name(spec.id)
    team = spec.id.namespace
    check_change_rate(team)
    reading = read_text(spec.text, source=spec.id.source)
    if reject_invalid and reading.errors:
        raise validation_error(reading)
    at_once = not in_batch and takes_effect_at_once(team, len(spec.text)) and try_lock_publishing()
    row = _lock_document(spec.id)
    existing = row if row and row.deleted_at is None else None
    check(precondition, existing.generation if existing else None)
    if existing and _matches_spec(existing, spec):
        return existing, False
    if existing is None:
        check_documents(spec.id)
    if reading.content is not None:
        check_bytes(spec.id, spec.text, before=len(existing.text.encode()) if existing else 0)
    spend_change(team)
    saved = _store(row, existing, spec, reading, actor)
    if at_once:
        recompute_all(actor)
    return saved, existing is None


@transaction.atomic
def delete_document(
    document: DocumentId,
    *,
    actor: Actor,
    precondition: Precondition | None = None,
    in_batch: bool = False,
) -> None:
    """Delete a document; the history keeps its claims. Raises UnknownAgentConfig, TooManyAttempts.

    Deletions by a source have no rate limit: a large removal must not leave outdated documents behind.
    """
    if not in_batch:
        check_change_rate(document.namespace)
    at_once = not in_batch and takes_effect_at_once(document.namespace) and try_lock_publishing()
    row = _lock_document(document)
    if row is None or row.deleted_at is not None:
        raise UnknownAgentConfig(f"There is no document {str(document)[:200]!r}.")
    check(precondition, row.generation)
    if not in_batch:
        spend_change(document.namespace)
    before = audit_entry(row)
    row.deleted_at = row.changed_at = database_now()
    row.text, row.content, row.diagnostics, row.generation = "", None, [], row.generation + 1
    row.content_generation, row.changed_by = 0, actor.name
    row.save()
    _record(CONFIG_REMOVED, document, actor, before=before, after=None)
    if at_once:
        recompute_all(actor)


def get_document(document: DocumentId) -> AgentConfig:
    """Return the document. Raises UnknownAgentConfig."""
    row = AgentConfig.objects.filter(
        source=document.source, team=document.namespace, name=document.name, deleted_at=None
    ).first()
    if row is None:
        raise UnknownAgentConfig(f"There is no document {str(document)[:200]!r}.")
    return row


def get_visible_document(document: DocumentId, caller: Caller) -> AgentConfig:
    """Return the document. Raises UnknownAgentConfig if it does not exist or the caller may not see it."""
    if document.namespace in hidden_teams(caller):
        raise UnknownAgentConfig(f"There is no document {str(document)[:200]!r}.")
    return get_document(document)


def delete_tombstones(*, now: datetime) -> int:
    """Delete tombstones of documents whose claims have expired and that no team part uses."""
    until = now - policies.claim_grace() - timedelta(hours=1)
    old = AgentConfig.objects.filter(deleted_at__lt=until)
    names = load_held_documents()
    retained_ids = (
        [row.id for row in old.defer("text", "content") if row.document_id in names] if names else []
    )
    return old.exclude(id__in=retained_ids).delete()[0]


def validation_error(reading: Reading) -> InvalidAgentConfig:
    """Return an API error with all errors of a document."""
    errors = [
        FieldError(error.path, error.code.value, error.message, error.hint, (), error.line, error.column)
        for error in reading.errors
    ]
    return InvalidAgentConfig(
        f"The document has {len(errors)} errors. The first: {errors[0].message}"
        if len(errors) > 1
        else errors[0].message,
        errors=errors,
        diagnostics=[serialization.diagnostic_to_json(diagnostic) for diagnostic in reading.diagnostics],
        omitted=reading.omitted,
    )


def audit_entry(row: AgentConfig) -> dict[str, Any]:
    """Return the document for the audit log, with the text's digest instead of the text."""
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
        message = f"A document's name must have letters, digits and inner . _ -, at most {DOCUMENT_LENGTH}."
        raise InvalidRequest(message, errors=[FieldError("/name", "malformed", message)])


def _lock_document(document: DocumentId) -> AgentConfig | None:
    rows = AgentConfig.objects.select_for_update()
    return rows.filter(source=document.source, team=document.namespace, name=document.name).first()


def _matches_spec(row: AgentConfig, spec: DocumentSpec) -> bool:
    return (row.text, row.facts, row.canary) == (
        spec.text,
        _facts_to_json(spec),
        serialization.canary_to_json(spec.canary),
    )


def _facts_to_json(spec: DocumentSpec) -> dict[str, Any]:
    return {name: asdict(facts) for name, facts in spec.facts.items()}


def _store(
    row: AgentConfig | None, existing: AgentConfig | None, spec: DocumentSpec, reading: Reading, actor: Actor
) -> AgentConfig:
    now = database_now()
    before = audit_entry(existing) if existing else None
    name = spec.id
    row = row or AgentConfig(source=name.source, team=name.namespace, name=name.name, generation=0)
    if existing is None:
        # A source's clock can make a document older, but never newer than now.
        row.created_at = min(now, spec.created_at or now)
        row.content, row.content_generation, row.deleted_at = None, 0, None
    was_valid, last_good = row.is_valid, row.content_generation
    row.generation += 1
    row.text, row.digest = spec.text, sha256(spec.text.encode()).hexdigest()
    row.facts, row.canary = _facts_to_json(spec), serialization.canary_to_json(spec.canary)
    row.changed_at, row.changed_by = now, actor.name
    _store_reading(row, reading, now, was_valid=was_valid)
    row.recent_changes = [*row.recent_changes, now.isoformat()][-_MAX_RECENT_CHANGES:]
    _save(row)
    if row.is_valid:
        _store_generation(row)
        readmit_fixed(row, actor)
    changes = [datetime.fromisoformat(timestamp) for timestamp in row.recent_changes]
    if is_flapping(changes, policy=policies.generation_policy(), now=now):
        quarantine_flapping(row, last_good, now=now)
    data = {"generation": row.generation, "valid": row.is_valid}
    _record(CONFIG_PUBLISHED, name, actor, before=before, after=audit_entry(row), **data)
    return row


def _store_reading(row: AgentConfig, reading: Reading, now: datetime, *, was_valid: bool) -> None:
    row.diagnostics = [serialization.diagnostic_to_json(diagnostic) for diagnostic in reading.diagnostics]
    row.is_parsed, row.is_valid = reading.parsed, reading.content is not None
    if reading.content is not None:
        row.content, row.content_generation = serialization.content_to_json(reading.content), row.generation
        row.content_seen_at = now
    elif was_valid:
        row.content_seen_at = now


def _save(row: AgentConfig) -> None:
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        raise VersionMismatch(
            "The document was published by another request at the same time. Read it and retry."
        ) from error


def _store_generation(row: AgentConfig) -> None:
    AgentConfigGeneration.objects.create(
        document=row, number=row.generation, content=row.content, facts=row.facts, canary=row.canary
    )
    oldest = row.generation - settings.AGENT_CONFIGS_GENERATIONS_KEPT
    old = AgentConfigGeneration.objects.filter(document=row, number__lte=oldest)
    # Keep generations that are served instead of the latest.
    retained = {*row.quarantines.values_list("fallback", flat=True), *generations_in_force(row)}
    old.exclude(number__in=retained).delete()


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
        team_id=owner_of(document.namespace),
    )
