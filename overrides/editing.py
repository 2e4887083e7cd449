"""Change overrides: put replaces, patch merges, delete removes. Each in one transaction with its history.

Every change first locks the revision counter. So changes of overrides happen one after another, their
revisions commit in order, and no two can race for one address. They are rare (people and pipelines
make them), and nothing else waits for that row.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.db.models.functions import Now

from controlplane.access import audit
from controlplane.access.actors import Actor
from controlplane.errors import UnknownOverride
from controlplane.preconditions import Precondition, check
from controlplane.scopes import Scope
from overrides import event_types
from overrides.merging import Attributes, merge_patch
from overrides.models import Override, OverrideVersion, RevisionCounter
from overrides.projects import check_known
from overrides.resource_types import get_type


@dataclass(frozen=True, slots=True)
class Address:
    """Where one override lies: a resource type at a scope."""

    resource_type: str
    scope: Scope

    def __str__(self) -> str:
        return f"{self.resource_type} at {self.scope}"


@dataclass(frozen=True, slots=True)
class Change:
    """What to make of the override at an address; None deletes it."""

    address: Address
    attributes: Attributes | None
    actor: Actor


def get_override(address: Address) -> Override:
    """Return what is set at exactly this address. Raises UnknownOverride and the like."""
    get_type(address.resource_type)
    check_known(address.scope)
    override: Override | None = Override.objects.of(address.resource_type, address.scope).first()
    if override is None:
        raise _nothing_at(address)
    return override


@transaction.atomic
def put_override(
    address: Address, attributes: Attributes, *, precondition: Precondition | None, actor: Actor
) -> tuple[Override, bool]:
    """Set or replace the attributes. Returns the override and whether it is new."""
    get_type(address.resource_type).check(attributes)
    check_known(address.scope)
    current, revision = _lock(address)
    check(precondition, current.version if current else None)
    return _store(Change(address, attributes, actor), current, revision), current is None


@transaction.atomic
def patch_override(
    address: Address, patch: Attributes, *, precondition: Precondition | None, actor: Actor
) -> Override:
    """Merge a patch (RFC 7396) into what is set here: null takes a member out, so that it inherits again."""
    resource_type = get_type(address.resource_type)
    check_known(address.scope)
    current, revision = _lock(address)
    if current is None:
        raise _nothing_at(address)
    # A patch names what it changes, so it may go without If-Match; a replacement may not.
    check(precondition if precondition and precondition.given else None, current.version)
    attributes = merge_patch(current.attributes, patch)
    resource_type.check(attributes)
    return _store(Change(address, attributes, actor), current, revision)


@transaction.atomic
def delete_override(address: Address, *, precondition: Precondition | None, actor: Actor) -> None:
    """Remove what is set here; the scope inherits again."""
    get_type(address.resource_type)
    check_known(address.scope)
    current, revision = _lock(address)
    if current is None:
        raise _nothing_at(address)
    check(precondition, current.version)
    before = snapshot(current)
    current.delete()
    change = Change(address, None, actor)
    version = _remember(change, revision)
    _announce(change, version, revision, before=before, after=None)


def snapshot(override: Override) -> dict[str, Any]:
    """The override as the audit log keeps it."""
    return {
        "resource_type": override.resource_type,
        "scope": override.scope.segments,
        "attributes": override.attributes,
        "version": override.version,
    }


def _lock(address: Address) -> tuple[Override | None, int]:
    """Take the next revision and what stands at the address. Nobody else changes it until we commit."""
    counter = RevisionCounter.objects.select_for_update().get(id=1)
    current = Override.objects.of(address.resource_type, address.scope).first()
    return current, counter.revision + 1


def _store(change: Change, current: Override | None, revision: int) -> Override:
    if current is not None and _same(current.attributes, change.attributes):
        return current  # nothing to tell: no version, no revision, no event
    before = snapshot(current) if current else None
    override = current or Override(
        resource_type=change.address.resource_type, **change.address.scope.segments
    )
    override.attributes = change.attributes
    override.version = _remember(change, revision)
    override.revision = revision
    override.changed_at = Now()
    override.changed_by = change.actor.name
    override.change_message = change.actor.reason
    override.save(force_insert=current is None)
    override.refresh_from_db(fields=["created_at", "changed_at"])
    _announce(change, override.version, revision, before=before, after=snapshot(override))
    return override


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON: to Python, 1 and 1.0 and true are equal."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _remember(change: Change, revision: int) -> int:
    """Write the history row and take the revision; return the address's next version."""
    past = OverrideVersion.objects.of(change.address.resource_type, change.address.scope)
    version: int = (past.aggregate(last=Max("version"))["last"] or 0) + 1
    OverrideVersion.objects.create(
        resource_type=change.address.resource_type,
        **change.address.scope.segments,
        version=version,
        revision=revision,
        attributes=change.attributes,
        changed_by=change.actor.name,
        change_message=change.actor.reason,
        request_id=change.actor.request_id,
    )
    RevisionCounter.objects.filter(id=1).update(revision=revision)
    return version


def _announce(
    change: Change,
    version: int,
    revision: int,
    *,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
) -> None:
    kind = event_types.OVERRIDE_UPDATED
    if before is None:
        kind = event_types.OVERRIDE_CREATED
    elif after is None:
        kind = event_types.OVERRIDE_DELETED
    scope = change.address.scope
    audit.record(
        kind,
        "override",
        str(change.address),
        actor=change.actor,
        before=before,
        after=after,
        data={
            "resource_type": change.address.resource_type,
            "scope": scope.segments,
            "version": version,
            "revision": revision,
        },
        scope=scope,
    )


def _nothing_at(address: Address) -> UnknownOverride:
    return UnknownOverride(
        f"No {address.resource_type} is set at {address.scope}. "
        "To see what applies there, ask for the effective values."
    )
