"""Define resource types at run time, without code or a restart. A change cannot break stored overrides."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.db.models import Max

from controlplane.access import audit
from controlplane.errors import Conflict, FieldError, NameTaken, StillInUse, UnknownResourceType
from controlplane.events.types import EventType
from controlplane.formats.counts import counted
from controlplane.identity.actors import Actor
from controlplane.preconditions import Precondition, check
from controlplane.scopes import Scope
from overrides import event_types
from overrides.editing.commit import DEFAULT_OPTIONS, CommitOptions, commit
from overrides.editing.plans import Plan
from overrides.loading.catalogue_cache import current_catalogue
from overrides.loading.related_rows import load_related_rows
from overrides.loading.revisions import current_revision, lock_revisions, take_revision
from overrides.models import Override, Revision, TypeDefinition
from overrides.resource_types import BUILT_IN, ResourceType
from overrides.resource_types.catalogue import Catalogue
from overrides.resource_types.operators import define

MAX_REPORTED = 100


@dataclass(frozen=True, slots=True)
class PutTypeResult:
    """The result of putting a type. plan: how it changes effective values."""

    resource_type: ResourceType
    is_new: bool
    plan: Plan


@transaction.atomic
def create_type(
    definition: Mapping[str, Any], *, actor: Actor, options: CommitOptions = DEFAULT_OPTIONS
) -> PutTypeResult:
    """Define a new type. Raises NameTaken, and like `put_type`."""
    lock_revisions()
    name = definition["name"]
    if TypeDefinition.objects.present().filter(name=name).exists():
        raise NameTaken(f"The resource type {name} already exists. Change it with PUT.")
    return put_type(definition, actor=actor, options=options)


@transaction.atomic
def put_type(
    definition: Mapping[str, Any],
    *,
    actor: Actor,
    precondition: Precondition | None = None,
    options: CommitOptions = DEFAULT_OPTIONS,
) -> PutTypeResult:
    """Define a type, or change its definition.

    Raises InvalidTypeDefinition, NameTaken, StillInUse with the rows that the change would break,
    InheritedConflict if a scope would resolve to invalid attributes, ConfirmationRequired.
    """
    lock_revisions()
    earlier = current_catalogue()
    resource_type, existing = store_type(definition, actor=actor, precondition=precondition)
    plan = commit([], current_catalogue(), actor=actor, options=options, earlier=earlier)
    changes = existing is None or existing.version != resource_type.version
    return PutTypeResult(
        resource_type, existing is None, replace(plan, revision=current_revision() if changes else 0)
    )


def store_type(
    definition: Mapping[str, Any], *, actor: Actor, precondition: Precondition | None = None
) -> tuple[ResourceType, TypeDefinition | None]:
    """Write a definition that fits every stored row. The caller holds the lock and checks the effects.

    Return the type and its previous definition.
    """
    catalogue = current_catalogue()
    name = definition["name"]
    if name in BUILT_IN:
        raise NameTaken(f"{name} is a built-in type and cannot be changed.")
    existing = TypeDefinition.objects.present().filter(name=name).first()
    resource_type = define(definition, version=_last_version(name) + 1)
    _check_key(resource_type, catalogue)
    check(precondition, existing.version if existing else None)
    if existing and existing.definition == dict(definition):
        return catalogue.get(name), existing
    if existing:
        _refuse_breaking_change(resource_type)
    _store(resource_type, definition, existing, actor)
    return resource_type, existing


@transaction.atomic
def delete_type(
    name: str,
    *,
    actor: Actor,
    precondition: Precondition | None = None,
    options: CommitOptions = DEFAULT_OPTIONS,
) -> Plan:
    """Delete a type without overrides. Raises StillInUse, UnknownResourceType, ConfirmationRequired."""
    lock_revisions()
    earlier = current_catalogue()
    if name in BUILT_IN:
        raise StillInUse(f"{name} is a built-in type and cannot be deleted.")
    existing = get_definition(name)
    check(precondition, existing.version)
    if count := Override.objects.filter(resource_type=name).count():
        raise StillInUse(f"{counted(count, 'override')} of {name} must be deleted first.", overrides=count)
    revision = take_revision(actor, changes=1, everything=True)
    _end(existing, revision)
    plan = commit([], current_catalogue(), actor=actor, options=options, earlier=earlier)
    _announce(event_types.TYPE_REMOVED, existing, revision, actor, before=existing.definition, after=None)
    return replace(plan, revision=revision.revision)


@transaction.atomic
def undelete_type(name: str, *, actor: Actor, options: CommitOptions = DEFAULT_OPTIONS) -> PutTypeResult:
    """Define a deleted type again, as it was. Raises UnknownResourceType, Conflict, and like `put_type`."""
    lock_revisions()
    latest = TypeDefinition.objects.filter(name=name).order_by("-version").first()
    if latest is None:
        raise UnknownResourceType(f"No operator-defined resource type is called {name[:80]!r}.")
    if latest.until_revision is None:
        raise Conflict(f"The resource type {name[:80]!r} is not deleted: version {latest.version} applies.")
    return put_type(latest.definition, actor=actor, options=options)


def get_definition(name: str) -> TypeDefinition:
    """Return the current definition of an operator's type. Raises UnknownResourceType."""
    row = TypeDefinition.objects.present().filter(name=name).first()
    if row is None:
        raise UnknownResourceType(f"No operator-defined resource type is called {name[:80]!r}.")
    return row


def _store(
    resource_type: ResourceType, definition: Mapping[str, Any], existing: TypeDefinition | None, actor: Actor
) -> None:
    revision = take_revision(actor, changes=1, everything=True)
    if existing:
        _end(existing, revision)
    row = TypeDefinition.objects.create(
        name=resource_type.name,
        definition=dict(definition),
        version=resource_type.version,
        since_revision=revision.revision,
        changed_at=revision.made_at,
        changed_by=actor.name,
    )
    event_type = event_types.TYPE_CHANGED if existing else event_types.TYPE_DEFINED
    before = existing.definition if existing else None
    _announce(event_type, row, revision, actor, before=before, after=row.definition)


def _last_version(name: str) -> int:
    """Return the last version ever. Versions rise across deletions, so old ETags never match a new type."""
    return TypeDefinition.objects.filter(name=name).aggregate(last=Max("version"))["last"] or 0


def _check_key(resource_type: ResourceType, catalogue: Catalogue) -> None:
    """Documents name a type by its key or its name, so both must be unique among all keys and names."""
    for key in (resource_type.document_key, resource_type.name):
        owner = catalogue.by_document_key().get(key) or catalogue.types.get(key)
        if owner and owner.name != resource_type.name:
            raise NameTaken(f"The document key {key!r} belongs to {owner.name}. Choose another key.")


def _refuse_breaking_change(resource_type: ResourceType) -> None:
    """Validate every stored document by the new definition."""
    errors = [
        FieldError("", error.code, f"{scope}: {error.pointer} {error.message}")
        for scope, text in load_related_rows(resource_type.name, [Scope()]).items()
        for error in _errors_of(resource_type, scope, text)
    ]
    if errors:
        raise StillInUse(
            f"{counted(len(errors), 'stored document')} would become invalid. First: {errors[0].message}",
            errors=errors[:MAX_REPORTED],
        )


def _errors_of(resource_type: ResourceType, scope: Scope, text: str) -> list[FieldError]:
    if reason := resource_type.not_at.get(scope.level):
        return [FieldError("", "level_not_allowed", reason)]
    return resource_type.errors(json.loads(text), "")


def _end(row: TypeDefinition, revision: Revision) -> None:
    row.until_revision = revision.revision
    row.save(update_fields=["until_revision"])


def _announce(
    event_type: EventType,
    row: TypeDefinition,
    revision: Revision,
    actor: Actor,
    *,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
) -> None:
    data = {"name": row.name, "version": row.version, "revision": revision.revision}
    audit.record(event_type, "resource_type", row.name, actor=actor, before=before, after=after, data=data)
