"""Define resource types at run time: no code, no restart. A change may not break what is stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.db.models import Max

from controlplane.access import audit
from controlplane.errors import FieldError, NameTaken, StillInUse, UnknownResourceType
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from controlplane.preconditions import Precondition, check
from controlplane.scopes import Scope
from overrides import event_types
from overrides.editing.commit import DEFAULT_LIMITS, Limits, commit
from overrides.editing.plans import Plan
from overrides.loading.catalogue_cache import current_catalogue
from overrides.loading.related_rows import load_family
from overrides.loading.revisions import current_revision, lock_revisions, take_revision
from overrides.models import Override, Revision, TypeDefinition
from overrides.resource_types import BUILT_IN, ResourceType
from overrides.resource_types.catalogue import Catalogue
from overrides.resource_types.operators import define

_TOLD = 100


@dataclass(frozen=True, slots=True)
class TypePut:
    """What a put of a type did. plan: how it changes effective values."""

    resource_type: ResourceType
    is_new: bool
    plan: Plan


@transaction.atomic
def create_type(definition: Mapping[str, Any], *, actor: Actor, limits: Limits = DEFAULT_LIMITS) -> TypePut:
    """Define a new type. Raises NameTaken, and as `put_type`."""
    lock_revisions()
    name = definition["name"]
    if TypeDefinition.objects.present().filter(name=name).exists():
        raise NameTaken(f"The resource type {name} exists already. Change it with PUT.")
    return put_type(definition, actor=actor, limits=limits)


@transaction.atomic
def put_type(
    definition: Mapping[str, Any],
    *,
    actor: Actor,
    precondition: Precondition | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> TypePut:
    """Define a type, or change its definition.

    Raises InvalidTypeDefinition, NameTaken, StillInUse with the rows that the change would break,
    InheritedConflict if some scope would resolve to something invalid, ConfirmationRequired.
    """
    lock_revisions()
    earlier = current_catalogue()
    one, standing = store_type(definition, actor=actor, precondition=precondition)
    plan = commit([], current_catalogue(), actor=actor, limits=limits, earlier=earlier)
    changes = standing is None or standing.version != one.version
    return TypePut(one, standing is None, replace(plan, revision=current_revision() if changes else 0))


def store_type(
    definition: Mapping[str, Any], *, actor: Actor, precondition: Precondition | None = None
) -> tuple[ResourceType, TypeDefinition | None]:
    """Write a definition that every stored row fits. The caller holds the lock, and looks at what it does
    to effective values. Returns the type, and the definition that stood before.
    """
    catalogue = current_catalogue()
    name = definition["name"]
    if name in BUILT_IN:
        raise NameTaken(f"{name} is a built-in type; it cannot be changed.")
    standing = TypeDefinition.objects.present().filter(name=name).first()
    one = define(definition, version=_last_version(name) + 1)
    _check_key(one, catalogue)
    check(precondition, standing.version if standing else None)
    if standing and standing.definition == dict(definition):
        return catalogue.get(name), standing
    if standing:
        _refuse_what_would_break(one)
    _store(one, definition, standing, actor)
    return one, standing


@transaction.atomic
def delete_type(
    name: str, *, actor: Actor, precondition: Precondition | None = None, limits: Limits = DEFAULT_LIMITS
) -> Plan:
    """Remove a type that nothing is set for. Raises StillInUse, UnknownResourceType, ConfirmationRequired."""
    lock_revisions()
    earlier = current_catalogue()
    if name in BUILT_IN:
        raise StillInUse(f"{name} is a built-in type; it cannot be removed.")
    standing = get_definition(name)
    check(precondition, standing.version)
    if count := Override.objects.filter(resource_type=name).count():
        raise StillInUse(f"{count} overrides of {name} are set. Remove them first.", overrides=count)
    revision = take_revision(actor, changes=1, everything=True)
    _end(standing, revision)
    plan = commit([], current_catalogue(), actor=actor, limits=limits, earlier=earlier)
    _announce(event_types.TYPE_REMOVED, standing, revision, actor, before=standing.definition, after=None)
    return replace(plan, revision=revision.revision)


def get_definition(name: str) -> TypeDefinition:
    """The present definition of an operator's type. Raises UnknownResourceType."""
    found = TypeDefinition.objects.present().filter(name=name).first()
    if found is None:
        raise UnknownResourceType(f"No operator has defined a resource type {name[:80]!r}.")
    return found


def _store(
    one: ResourceType, definition: Mapping[str, Any], standing: TypeDefinition | None, actor: Actor
) -> None:
    revision = take_revision(actor, changes=1, everything=True)
    if standing:
        _end(standing, revision)
    row = TypeDefinition.objects.create(
        name=one.name,
        definition=dict(definition),
        version=one.version,
        since_revision=revision.revision,
        changed_at=revision.made_at,
        changed_by=actor.name,
    )
    kind = event_types.TYPE_CHANGED if standing else event_types.TYPE_DEFINED
    before = standing.definition if standing else None
    _announce(kind, row, revision, actor, before=before, after=row.definition)


def _last_version(name: str) -> int:
    """Versions go on rising over removals: an old ETag never matches a new type."""
    return TypeDefinition.objects.filter(name=name).aggregate(last=Max("version"))["last"] or 0


def _check_key(one: ResourceType, catalogue: Catalogue) -> None:
    """A document says either a type's key or its name, so neither may mean another type."""
    for said in (one.document_key, one.name):
        taken = catalogue.by_document_key().get(said) or catalogue.types.get(said)
        if taken and taken.name != one.name:
            raise NameTaken(f"The document key {said!r} belongs to {taken.name}.")


def _refuse_what_would_break(one: ResourceType) -> None:
    """Look at every stored document."""
    errors = [
        FieldError("", error.code, f"{scope}: {error.pointer} {error.message}")
        for scope, text in load_family(one.name, [Scope()]).items()
        for error in _errors_of(one, scope, text)
    ]
    if errors:
        raise StillInUse(
            f"{len(errors)} stored documents would not fit any more. First: {errors[0].message}",
            errors=errors[:_TOLD],
        )


def _errors_of(one: ResourceType, scope: Scope, text: str) -> list[FieldError]:
    if reason := one.not_at.get(scope.level):
        return [FieldError("", "level_not_allowed", reason)]
    return one.errors(json.loads(text), "")


def _end(row: TypeDefinition, revision: Revision) -> None:
    row.until_revision = revision.revision
    row.save(update_fields=["until_revision"])


def _announce(
    kind: EventType,
    row: TypeDefinition,
    revision: Revision,
    actor: Actor,
    *,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
) -> None:
    data = {"name": row.name, "version": row.version, "revision": revision.revision}
    audit.record(kind, "resource_type", row.name, actor=actor, before=before, after=after, data=data)
