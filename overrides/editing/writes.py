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
from controlplane.formats.json_patch import apply_patch
from controlplane.identity.actors import Actor
from controlplane.preconditions import Precondition, check
from overrides.editing.commit import Draft, Limits, begin, commit
from overrides.editing.plans import Plan
from overrides.field_managers import Outcome, replaced
from overrides.loading.catalogue_cache import current_catalogue
from overrides.loading.current import Standing, load_standing
from overrides.models import Override
from overrides.projects import check_known
from overrides.resolution.addresses import Address
from overrides.resolution.merging import Attributes, merge_patch
from overrides.resource_types import ResourceType
from overrides.resource_types.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms somebody writes.

    manager: who manages the values from now on; empty for nobody. force: take values from their managers.
    """

    precondition: Precondition | None = None
    manager: str = ""
    force: bool = False
    limits: Limits = field(default_factory=Limits)


def get_override(address: Address) -> Override:
    """Return what is set at exactly this address. Raises UnknownOverride and the like."""
    current_catalogue().get(address.resource_type)
    check_known(address.scope)
    override: Override | None = Override.objects.of(address.resource_type, address.scope).first()
    if override is None:
        raise nothing_at(address)
    return override


@transaction.atomic
def put_override(
    address: Address, attributes: Attributes, *, actor: Actor, terms: Terms = Terms()
) -> tuple[Override, bool]:
    """Set or replace the attributes. Returns the override and whether it is new."""
    catalogue, standing = _look(address, actor)
    wanted = catalogue.get(address.resource_type).read(attributes)
    catalogue.get(address.resource_type).check(wanted)
    check(terms.precondition, standing.present_version)
    _write(standing, wanted, catalogue, actor, terms)
    return _standing_at(address), standing.attributes is None


@transaction.atomic
def write_override(
    address: Address, attributes: Attributes | None, *, actor: Actor, terms: Terms = Terms()
) -> Plan:
    """Put the attributes, or with None delete; return what that does. For those who look before they save."""
    catalogue, standing = _look(address, actor)
    if attributes is None and standing.attributes is None:
        raise nothing_at(address)
    wanted = None if attributes is None else catalogue.get(address.resource_type).read(attributes)
    if wanted is not None:
        catalogue.get(address.resource_type).check(wanted)
    check(terms.precondition, standing.present_version)
    return _write(standing, wanted, catalogue, actor, terms)


@transaction.atomic
def preview_override(
    address: Address, attributes: Attributes | None, *, actor: Actor, terms: Terms = Terms()
) -> Plan:
    """What `write_override` would do, and raise; nothing is kept."""
    plan = write_override(address, attributes, actor=actor, terms=terms)
    transaction.set_rollback(True)
    return plan


def patch_override(address: Address, patch: Attributes, *, actor: Actor, terms: Terms = Terms()) -> Override:
    """Merge a patch (RFC 7396) into what is set here: null takes a member out, so that it inherits again."""

    def merged(resource_type: ResourceType, attributes: Attributes) -> Attributes:
        return merge_patch(attributes, resource_type.read(patch))

    return _patch(address, merged, actor, terms)


def json_patch_override(
    address: Address, operations: Any, *, actor: Actor, terms: Terms = Terms()
) -> Override:
    """Apply a JSON Patch (RFC 6902) to `{"attributes": …}` as it is set here.

    Raises InvalidRequest for what is no patch, PatchFailed where it does not fit.
    """

    def patched(resource_type: ResourceType, attributes: Attributes) -> Attributes:
        document = apply_patch({"attributes": attributes}, operations)
        if not isinstance(document, dict) or set(document) != {"attributes"}:
            message = "A patch may change `/attributes` and what is in it."
            raise InvalidRequest(message, errors=[FieldError("", "not_allowed", message)])
        if not isinstance(document["attributes"], dict):
            message = "The attributes must stay an object."
            raise InvalidAttributes(message, errors=[FieldError("/attributes", "wrong_type", message)])
        return resource_type.read(document["attributes"])

    return _patch(address, patched, actor, terms)


@transaction.atomic
def _patch(
    address: Address,
    revise: Callable[[ResourceType, Attributes], Attributes],
    actor: Actor,
    terms: Terms,
) -> Override:
    catalogue, standing = _look(address, actor)
    if standing.attributes is None:
        raise nothing_at(address)
    # A patch names what it changes, so it may go without If-Match; a replacement may not.
    given = terms.precondition if terms.precondition and terms.precondition.is_set else None
    check(given, standing.version)
    wanted = revise(catalogue.get(address.resource_type), standing.attributes)
    _write(standing, wanted, catalogue, actor, terms)
    return _standing_at(address)


@transaction.atomic
def delete_override(address: Address, *, actor: Actor, terms: Terms = Terms()) -> None:
    """Remove what is set here; the scope inherits again."""
    catalogue, standing = _look(address, actor)
    if standing.attributes is None:
        raise nothing_at(address)
    check(terms.precondition, standing.version)
    _write(standing, None, catalogue, actor, terms)


@transaction.atomic
def revise_override(
    address: Address,
    revise: Callable[[Attributes | None], Attributes | None],
    *,
    actor: Actor,
    terms: Terms = Terms(),
) -> None:
    """Let a function say what shall stand, given what stands; None stands for nothing, before and after.

    The attributes that it returns are in the spelling that is stored.
    """
    catalogue, standing = _look(address, actor)
    check(terms.precondition, standing.present_version)
    _write(standing, revise(standing.attributes), catalogue, actor, terms)


def refuse_claims(address: Address, outcome: Outcome, *, force: bool, pointer: str = "/attributes") -> None:
    """Raise ManagedElsewhere, naming fields and managers, unless the caller overrules them."""
    if outcome.claimed and not force:
        raise ManagedElsewhere(
            f"{len(outcome.claimed)} fields of {address} are managed by somebody else. "
            "Change them there, or take them over with force=true.",
            errors=[claim_error(one.leaf, one.managers, pointer) for one in outcome.claimed],
        )


def claim_error(leaf: str, managers: tuple[str, ...], pointer: str) -> FieldError:
    return FieldError(
        f"{pointer}{leaf}", "managed_elsewhere", f"{leaf or '/'} is managed by {', '.join(managers)}."
    )


def nothing_at(address: Address) -> UnknownOverride:
    return UnknownOverride(
        f"No {address.resource_type} is set at {address.scope}. "
        "To see what applies there, ask for the effective values."
    )


def _standing_at(address: Address) -> Override:
    return Override.objects.of(address.resource_type, address.scope).get()


def _look(address: Address, actor: Actor) -> tuple[Catalogue, Standing]:
    catalogue = begin(actor)
    catalogue.get(address.resource_type)
    check_known(address.scope)
    return catalogue, load_standing([address])[address]


def _write(
    standing: Standing, wanted: Attributes | None, catalogue: Catalogue, actor: Actor, terms: Terms
) -> Plan:
    rule = catalogue.get(standing.address.resource_type).rule
    outcome = replaced(standing.attributes, standing.owners, wanted, rule, terms.manager)
    refuse_claims(standing.address, outcome, force=terms.force)
    return commit([Draft(standing, wanted, outcome.owners)], catalogue, actor=actor, limits=terms.limits)
