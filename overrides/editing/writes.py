"""Change one override: put replaces, patch merges, delete removes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from controlplane.errors import (
    FieldError,
    InvalidAttributes,
    InvalidRequest,
    ManagedElsewhere,
    UnknownOverride,
)
from controlplane.formats.counts import counted
from controlplane.formats.json_patch import apply_patch
from controlplane.identity.actors import Actor
from controlplane.preconditions import Precondition, check
from overrides.editing.commit import CommitOptions, begin, commit
from overrides.editing.draft import Draft
from overrides.editing.plans import Plan
from overrides.field_managers import WriteOutcome, replace_attributes
from overrides.loading.catalogue_cache import current_catalogue
from overrides.loading.current import CurrentOverride, load_current
from overrides.models import Override
from overrides.projects import check_known
from overrides.resolution.addresses import Address
from overrides.resolution.merging import Attributes, merge_patch
from overrides.resource_types import ResourceType
from overrides.resource_types.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options of a write.

    manager: who manages the values from now on; empty for nobody. force: take over values of other managers.
    """

    precondition: Precondition | None = None
    manager: str = ""
    force: bool = False
    commit_options: CommitOptions = field(default_factory=CommitOptions)


def get_override(address: Address) -> Override:
    """Return the override at exactly this address. Raises UnknownOverride and similar errors."""
    current_catalogue().get(address.resource_type)
    check_known(address.scope)
    override: Override | None = Override.objects.of(address.resource_type, address.scope).first()
    if override is None:
        raise missing_override(address)
    return override


@transaction.atomic
def put_override(
    address: Address, attributes: Attributes, *, actor: Actor, options: WriteOptions = WriteOptions()
) -> tuple[Override, bool]:
    """Set or replace the attributes. Return the override and whether it is new."""
    catalogue, current = _load_current(address, actor)
    stored_attributes = catalogue.get(address.resource_type).read(attributes)
    check(options.precondition, current.present_version)
    _write(current, stored_attributes, catalogue, actor, options)
    return _stored_override(address), current.attributes is None


@transaction.atomic
def write_override(
    address: Address, attributes: Attributes | None, *, actor: Actor, options: WriteOptions = WriteOptions()
) -> Plan:
    """Put the attributes, or delete with None; return the plan. For callers that show a preview."""
    catalogue, current = _load_current(address, actor)
    if attributes is None and current.attributes is None:
        raise missing_override(address)
    stored_attributes = None if attributes is None else catalogue.get(address.resource_type).read(attributes)
    if stored_attributes is not None:
        check(options.precondition, current.present_version)
    return _write(current, stored_attributes, catalogue, actor, options)


@transaction.atomic
def preview_override(
    address: Address, attributes: Attributes | None, *, actor: Actor, options: WriteOptions = WriteOptions()
) -> Plan:
    """Return the plan of `write_override`, or raise its errors, without writing."""
    plan = write_override(address, attributes, actor=actor, options=options)
    transaction.set_rollback(True)
    return plan


def patch_override(
    address: Address, patch: Attributes, *, actor: Actor, options: WriteOptions = WriteOptions()
) -> Override:
    """Merge a patch (RFC 7396) into the override: null removes a member, so that it inherits again."""

    def merged(resource_type: ResourceType, attributes: Attributes) -> Attributes:
        return merge_patch(attributes, resource_type.read(patch))

    return _patch(address, merged, actor, options)


def json_patch_override(
    address: Address, operations: Any, *, actor: Actor, options: WriteOptions = WriteOptions()
) -> Override:
    """Apply a JSON Patch (RFC 6902) to the override as `{"attributes": …}`.

    Raises InvalidRequest for a malformed patch, PatchFailed if it cannot be applied.
    """

    def patched(resource_type: ResourceType, attributes: Attributes) -> Attributes:
        document = apply_patch({"attributes": attributes}, operations)
        if not isinstance(document, dict) or set(document) != {"attributes"}:
            message = "A patch may only change `/attributes` and its members."
            raise InvalidRequest(message, errors=[FieldError("", "not_allowed", message)])
        if not isinstance(document["attributes"], dict):
            message = "The attributes must remain an object."
            raise InvalidAttributes(message, errors=[FieldError("/attributes", "wrong_type", message)])
        return resource_type.read(document["attributes"])

    return _patch(address, patched, actor, options)


@transaction.atomic
def _patch(
    address: Address,
    revise: Callable[[ResourceType, Attributes], Attributes],
    actor: Actor,
    options: WriteOptions,
) -> Override:
    catalogue, current = _load_current(address, actor)
    if current.attributes is None:
        raise missing_override(address)
    # A patch names what it changes, so If-Match is optional; a replacement needs it.
    precondition = options.precondition if options.precondition and options.precondition.is_set else None
    check(precondition, current.version)
    revised = revise(catalogue.get(address.resource_type), current.attributes)
    _write(current, revised, catalogue, actor, options)
    return _stored_override(address)


@transaction.atomic
def delete_override(address: Address, *, actor: Actor, options: WriteOptions = WriteOptions()) -> None:
    """Delete the override; the scope inherits again."""
    catalogue, current = _load_current(address, actor)
    if current.attributes is None:
        raise missing_override(address)
    check(options.precondition, current.version)
    _write(current, None, catalogue, actor, options)


@transaction.atomic
def revise_override(
    address: Address,
    revise: Callable[[Attributes | None], Attributes | None],
    *,
    actor: Actor,
    options: WriteOptions = WriteOptions(),
) -> None:
    """Write the attributes that a function returns for the current ones; None means no override, both ways.

    The function returns attributes in the stored spelling.
    """
    catalogue, current = _load_current(address, actor)
    check(options.precondition, current.present_version)
    _write(current, revise(current.attributes), catalogue, actor, options)


def refuse_conflicts(
    address: Address, outcome: WriteOutcome, *, force: bool, pointer: str = "/attributes"
) -> None:
    """Raise ManagedElsewhere with the fields and their managers, unless `force` is set."""
    if outcome.conflicts and not force:
        raise ManagedElsewhere(
            f"{address} has {counted(len(outcome.conflicts), 'field')} of another manager. "
            "Change that there, or take it over with force=true.",
            errors=[
                conflict_error(conflict.leaf, conflict.managers, pointer) for conflict in outcome.conflicts
            ],
        )


def conflict_error(leaf: str, managers: tuple[str, ...], pointer: str) -> FieldError:
    return FieldError(
        f"{pointer}{leaf}", "managed_elsewhere", f"{leaf or '/'} is managed by {', '.join(managers)}."
    )


def missing_override(address: Address) -> UnknownOverride:
    return UnknownOverride(
        f"No {address.resource_type} is set at {address.scope}. "
        "To see what applies there, read the effective values."
    )


def _stored_override(address: Address) -> Override:
    return Override.objects.of(address.resource_type, address.scope).get()


def _load_current(address: Address, actor: Actor) -> tuple[Catalogue, CurrentOverride]:
    catalogue = begin(actor)
    catalogue.get(address.resource_type)
    check_known(address.scope)
    return catalogue, load_current([address])[address]


def _write(
    current: CurrentOverride,
    attributes: Attributes | None,
    catalogue: Catalogue,
    actor: Actor,
    options: WriteOptions,
) -> Plan:
    rule = catalogue.get(current.address.resource_type).rule
    outcome = replace_attributes(current.attributes, current.owners, attributes, rule, options.manager)
    refuse_conflicts(current.address, outcome, force=options.force)
    return commit(
        [Draft(current, attributes, outcome.owners)], catalogue, actor=actor, options=options.commit_options
    )
