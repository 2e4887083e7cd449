"""Rollback: restore the state of a version or a revision as a new version."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from controlplane.errors import Conflict
from controlplane.identity.actors import Actor
from controlplane.preconditions import check
from controlplane.scopes import Scope
from overrides.editing.commit import begin, commit
from overrides.editing.draft import Draft
from overrides.editing.plans import Plan
from overrides.editing.removal_guard import Removals
from overrides.editing.writes import WriteOptions, missing_override, refuse_conflicts
from overrides.field_managers import replace_attributes
from overrides.history.history import (
    address_of,
    attributes_as_of,
    changes_between,
    get_version,
    versions_of,
)
from overrides.loading.current import load_current
from overrides.loading.revisions import check_revision, current_revision
from overrides.models import Override
from overrides.resolution.addresses import Address
from overrides.resolution.merging import Attributes


@transaction.atomic
def roll_back_override(address: Address, *, to_version: int, actor: Actor, options: WriteOptions) -> Plan:
    """Restore an old version of one override. Raises UnknownVersion."""
    catalogue = begin(actor)
    catalogue.get(address.resource_type)
    attributes = get_version(address, to_version).attributes
    # The request names the version to restore, so If-Match is optional.
    precondition = options.precondition if options.precondition and options.precondition.is_set else None
    check(precondition, load_current([address])[address].present_version)
    return _restore({address: attributes}, actor, options)


@transaction.atomic
def undelete_override(address: Address, *, actor: Actor, options: WriteOptions) -> Plan:
    """Restore a deleted override as its last version had it.

    Raises UnknownOverride if nothing was ever set, Conflict if it is not deleted, or if its history is gone.
    """
    catalogue = begin(actor)
    catalogue.get(address.resource_type)
    newest = versions_of(address).order_by("-version").first()
    if newest is None:
        raise missing_override(address)
    if newest.attributes is not None:
        raise Conflict(f"{address} is not deleted: version {newest.version} applies. Use rollback.")
    last = versions_of(address).filter(attributes__isnull=False).order_by("-version").first()
    if last is None:
        raise Conflict(f"The versions of {address} from before its deletion are not kept any more.")
    return roll_back_override(address, to_version=last.version, actor=actor, options=options)


@transaction.atomic
def roll_back(
    scopes: Sequence[Scope], *, to_revision: int, resource_type: str = "", actor: Actor, options: WriteOptions
) -> Plan:
    """Restore all overrides at and below the scopes to their state at the revision."""
    begin(actor)
    check_revision(to_revision)
    changed = changes_between(to_revision, current_revision()).within(scopes)
    if resource_type:
        changed = changed.filter(resource_type=resource_type)
    addresses = [address_of(row) for row in changed]
    stored = Override.objects.within(scopes)
    if resource_type:
        stored = stored.filter(resource_type=resource_type)
    return _restore(attributes_as_of(addresses, to_revision), actor, options, stored=stored.count())


def _restore(
    attributes_by_address: dict[Address, Attributes | None],
    actor: Actor,
    options: WriteOptions,
    *,
    stored: int = 1,
) -> Plan:
    catalogue = begin(actor)
    overrides = load_current(attributes_by_address)
    drafts = []
    for address, attributes in attributes_by_address.items():
        current = overrides[address]
        rule = catalogue.get(address.resource_type).rule
        outcome = replace_attributes(current.attributes, current.owners, attributes, rule, options.manager)
        refuse_conflicts(address, outcome, force=options.force)
        drafts.append(Draft(current, attributes, outcome.owners))
    removed = tuple(draft.address for draft in drafts if draft.changes and draft.after is None)
    removals = Removals(removed, stored, what="overrides in reach", expected=True)
    return commit(drafts, catalogue, actor=actor, options=options.commit_options, removals=removals)
