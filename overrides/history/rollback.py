"""Go back: make what stood at a version or a revision stand again, as a new version."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from controlplane.identity.actors import Actor
from controlplane.preconditions import check
from controlplane.scopes import Scope
from overrides.editing.commit import Draft, begin, commit
from overrides.editing.plans import Plan
from overrides.editing.removal_guard import Removals
from overrides.editing.writes import Terms, refuse_claims
from overrides.field_managers import replaced
from overrides.history.history import address_of, attributes_as_of, changed_between, get_version
from overrides.loading.current import load_standing
from overrides.loading.revisions import check_revision, current_revision
from overrides.models import Override
from overrides.resolution.addresses import Address
from overrides.resolution.merging import Attributes


@transaction.atomic
def roll_back_override(address: Address, *, to_version: int, actor: Actor, terms: Terms) -> Plan:
    """Make an old version of one override stand again. Raises UnknownVersion."""
    catalogue = begin(actor)
    catalogue.get(address.resource_type)
    wanted = get_version(address, to_version).attributes
    # It names the version that it wants, so it may go without If-Match.
    given = terms.precondition if terms.precondition and terms.precondition.given else None
    check(given, load_standing([address])[address].present_version)
    return _restore({address: wanted}, actor, terms)


@transaction.atomic
def roll_back(
    scopes: Sequence[Scope], *, to_revision: int, resource_type: str = "", actor: Actor, terms: Terms
) -> Plan:
    """Make everything at and below the scopes stand again as it did at the revision."""
    begin(actor)
    check_revision(to_revision)
    changed = changed_between(to_revision, current_revision()).within(scopes)
    if resource_type:
        changed = changed.filter(resource_type=resource_type)
    addresses = [address_of(row) for row in changed]
    stored = Override.objects.within(scopes)
    if resource_type:
        stored = stored.filter(resource_type=resource_type)
    return _restore(attributes_as_of(addresses, to_revision), actor, terms, stored=stored.count())


def _restore(
    wanted: dict[Address, Attributes | None], actor: Actor, terms: Terms, *, stored: int = 1
) -> Plan:
    catalogue = begin(actor)
    standing = load_standing(wanted)
    drafts = []
    for address, attributes in wanted.items():
        now = standing[address]
        rule = catalogue.get(address.resource_type).rule
        outcome = replaced(now.attributes, now.owners, attributes, rule, terms.manager)
        refuse_claims(address, outcome, force=terms.force)
        drafts.append(Draft(now, attributes, outcome.owners))
    removed = tuple(draft.address for draft in drafts if draft.changes and draft.after is None)
    removals = Removals(removed, stored, what="overrides in reach", expected=True)
    return commit(drafts, catalogue, actor=actor, limits=terms.limits, removals=removals)
