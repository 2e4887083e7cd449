"""Declarative apply: many statements at once, all or nothing, merged with what other managers own.

Each manager says all that it wants. What it wanted before and wants no more is taken out of the overrides
that it names again; with `prune` also out of those that it names no more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.db import transaction

from controlplane.errors import FieldError, InvalidRequest, ManagedElsewhere
from controlplane.identity.actors import Actor
from controlplane.scopes import Scope
from overrides.editing.commit import Draft, Limits, begin, commit
from overrides.editing.plans import Plan
from overrides.editing.removal_guard import Removals
from overrides.editing.validation import check_stated
from overrides.editing.writes import claim_error
from overrides.field_managers import Outcome, applied
from overrides.loading.current import Standing, load_standing, managed_by
from overrides.resolution.addresses import Address, Statement
from overrides.resolution.merging import Attributes, canonical
from overrides.resource_types.catalogue import Catalogue, RuleChange

_TOLD = 200


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """manager: whose statements these are. force: take values from other managers. prune: remove what the
    manager owns at or below `prune_within` and states no more. confirm, asks: see changing.Limits; a prune
    that removes much asks as well.
    """

    manager: str
    force: bool = False
    prune: bool = False
    prune_within: tuple[Scope, ...] = (Scope(),)
    confirm: str = ""
    asks: bool = True
    wants_plan: bool = True

    @property
    def limits(self) -> Limits:
        return Limits(confirm=self.confirm, wants_plan=self.wants_plan, asks=self.asks)


@transaction.atomic
def apply_statements(
    statements: Sequence[Statement],
    *,
    options: ApplyOptions,
    actor: Actor,
    earlier: Catalogue | None = None,
) -> Plan:
    """Apply them. Raises InvalidRequest if one address is stated twice, ManagedElsewhere, and as `commit`."""
    catalogue = begin(actor)
    rules = RuleChange(earlier or catalogue, catalogue)
    _refuse_repeated(statements)
    stated = {statement.address: statement for statement in statements}
    owned = managed_by(options.manager, within=options.prune_within) if options.prune else []
    standing = load_standing([*stated, *(address for address in owned if address not in stated)])
    # Each must be legal by itself: only then can it be merged.
    check_stated([(it, standing[it.address].attributes) for it in statements], rules)
    drafts = _drafts(standing, stated, catalogue, options)
    removals = _removals(drafts, stated, len(owned), options) if options.prune else None
    return commit(drafts, catalogue, actor=actor, limits=options.limits, earlier=earlier, removals=removals)


def _drafts(
    standing: Mapping[Address, Standing],
    stated: Mapping[Address, Statement],
    catalogue: Catalogue,
    options: ApplyOptions,
) -> list[Draft]:
    """Raises ManagedElsewhere."""
    drafting = _Drafting(catalogue, options)
    drafts, claims = [], []
    for address, now in standing.items():
        draft, errors = drafting.draft(now, stated.get(address))
        drafts.append(draft)
        claims += errors
    if claims and not options.force:
        raise ManagedElsewhere(
            f"{len(claims)} fields are managed by somebody else. {claims[0].message} "
            "Leave them out, agree with the manager, or take them over with force=true.",
            errors=claims[:_TOLD],
        )
    return drafts


def _removals(
    drafts: Sequence[Draft], stated: Mapping[Address, Statement], owned: int, options: ApplyOptions
) -> Removals:
    """What pruning takes away, whole or in part, of what the manager has in reach."""
    pruned = [draft.address for draft in drafts if draft.changes and draft.address not in stated]
    return Removals(tuple(pruned), owned, what=f"overrides that {options.manager} manages in reach")


@dataclass(slots=True)
class _Drafting:
    """Merges statements with what stands. What many documents say alike is merged once."""

    catalogue: Catalogue
    options: ApplyOptions
    known: dict[tuple[str, str, str, str], Outcome] = field(default_factory=dict)

    def draft(self, now: Standing, statement: Statement | None) -> tuple[Draft, list[FieldError]]:
        """What shall stand, and the claims of other managers against it."""
        pointer = statement.pointer if statement else ""
        outcome = self._merged(now, statement.attributes if statement else None)
        declared_in = statement.declared_in if statement else now.declared_in
        claims = [claim_error(it.leaf, it.managers, pointer) for it in outcome.claimed]
        return Draft(now, outcome.attributes, outcome.owners, declared_in, pointer), claims

    def _merged(self, now: Standing, wanted: Attributes | None) -> Outcome:
        name = now.address.resource_type
        key = (name, canonical(now.attributes), canonical(now.owners), canonical(wanted))
        if key not in self.known:
            rule = self.catalogue.get(name).rule
            self.known[key] = applied(now.attributes, now.owners, wanted, rule, self.options.manager)
        return self.known[key]


def _refuse_repeated(statements: Sequence[Statement]) -> None:
    first: dict[Address, Statement] = {}
    found = []
    for statement in statements:
        earlier = first.setdefault(statement.address, statement)
        if earlier is not statement:
            other = earlier.declared_in or earlier.pointer
            message = f"{statement.address} is stated twice; first at {other}."
            found.append(FieldError(statement.pointer, "stated_twice", message))
    if found:
        raise InvalidRequest(found[0].message, errors=found[:_TOLD])
