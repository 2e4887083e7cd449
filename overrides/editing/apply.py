"""Declarative apply: many statements at once, all or nothing, merged with the values of other managers.

Each manager states everything that it wants to set. Values that it no longer states are removed from the
overrides that it states again; with `prune`, also from overrides that it no longer states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.db import transaction

from controlplane.errors import FieldError, InvalidRequest, ManagedElsewhere
from controlplane.formats.counts import counted
from controlplane.formats.label_selectors import Requirement
from controlplane.identity.actors import Actor
from controlplane.scopes import Scope
from overrides.approvals.decisions import NO_CONSENT, Consent
from overrides.editing.commit import CommitOptions, begin, commit
from overrides.editing.draft import Draft
from overrides.editing.plans import Plan
from overrides.editing.removal_guard import Removals
from overrides.editing.validation import check_stated
from overrides.editing.writes import conflict_error
from overrides.field_managers import WriteOutcome, apply_attributes, manages_alone
from overrides.freezes.decisions import FreezeOverride
from overrides.loading.current import CurrentOverride, load_current, managed_by
from overrides.projects import projects_with
from overrides.resolution.addresses import Address, Statement
from overrides.resolution.merging import REMOVE
from overrides.resource_types.catalogue import Catalogue, RuleChange

MAX_REPORTED = 200


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """Options of an apply.

    manager: who makes the statements. force: take over values of other managers. prune: remove what the
    manager owns at or below `prune_within` and no longer states; much needs confirmation. prune_labels:
    prune only in projects whose labels meet all of these. confirm, asks, freeze_override, heeds_freezes,
    consent, heeds_approvals: see CommitOptions.
    """

    manager: str
    force: bool = False
    prune: bool = False
    prune_within: tuple[Scope, ...] = (Scope(),)
    prune_labels: tuple[Requirement, ...] = ()
    confirm: str = ""
    asks: bool = True
    wants_plan: bool = True
    freeze_override: FreezeOverride | None = None
    heeds_freezes: bool = True
    consent: Consent = NO_CONSENT
    heeds_approvals: bool = True

    @property
    def commit_options(self) -> CommitOptions:
        return CommitOptions(
            confirm=self.confirm,
            wants_plan=self.wants_plan,
            asks=self.asks,
            freeze_override=self.freeze_override,
            heeds_freezes=self.heeds_freezes,
            consent=self.consent,
            heeds_approvals=self.heeds_approvals,
        )


@transaction.atomic
def apply_statements(
    statements: Sequence[Statement],
    *,
    options: ApplyOptions,
    actor: Actor,
    earlier: Catalogue | None = None,
) -> Plan:
    """Apply the statements. Raises InvalidRequest for repeats, ManagedElsewhere, and like `commit`."""
    catalogue = begin(actor)
    rules = RuleChange(earlier or catalogue, catalogue)
    _refuse_repeated(statements)
    stated = {statement.address: statement for statement in statements}
    owned = _prunable(options) if options.prune else []
    current = load_current([*stated, *(address for address in owned if address not in stated)])
    # Each statement must be valid by itself before it can be merged.
    check_stated([(statement, current[statement.address]) for statement in statements], rules)
    drafts = _drafts(current, stated, catalogue, options)
    removals = _removals(drafts, stated, len(owned), options) if options.prune else None
    return commit(
        drafts, catalogue, actor=actor, options=options.commit_options, earlier=earlier, removals=removals
    )


def _prunable(options: ApplyOptions) -> list[Address]:
    """Return what the manager owns where it may prune. Labels are those of this transaction."""
    owned = managed_by(options.manager, within=options.prune_within)
    if not options.prune_labels:
        return owned
    projects = projects_with(options.prune_labels)
    return [address for address in owned if address.scope.project in projects]


def _drafts(
    current: Mapping[Address, CurrentOverride],
    stated: Mapping[Address, Statement],
    catalogue: Catalogue,
    options: ApplyOptions,
) -> list[Draft]:
    """Raises ManagedElsewhere."""
    drafting = _Drafting(catalogue, options)
    drafts, conflicts = [], []
    for address, override in current.items():
        draft, errors = drafting.draft(override, stated.get(address))
        drafts.append(draft)
        conflicts += errors
    if conflicts and not options.force:
        raise ManagedElsewhere(
            f"{counted(len(conflicts), 'field is', 'fields are')} managed by another manager. "
            f"{conflicts[0].message} "
            "Leave them out, or take them over with force=true.",
            errors=conflicts[:MAX_REPORTED],
        )
    return drafts


def _removals(
    drafts: Sequence[Draft], stated: Mapping[Address, Statement], owned: int, options: ApplyOptions
) -> Removals:
    """Return what pruning removes, completely or in part, of the overrides in reach of the manager."""
    pruned = [draft.address for draft in drafts if draft.changes and draft.address not in stated]
    return Removals(tuple(pruned), owned, what=f"overrides that {options.manager} manages in reach")


@dataclass(slots=True)
class _Drafting:
    """Merges statements with current overrides. Equal documents are merged once."""

    catalogue: Catalogue
    options: ApplyOptions
    outcomes: dict[tuple[str, str, str, str], WriteOutcome] = field(default_factory=dict)

    def draft(self, override: CurrentOverride, statement: Statement | None) -> tuple[Draft, list[FieldError]]:
        """Return the draft, and its conflicts with other managers."""
        pointer = statement.pointer if statement else ""
        outcome = self._merged(override, statement)
        declared_in = statement.declared_in if statement else override.declared_in
        conflicts = [
            conflict_error(conflict.leaf, conflict.managers, pointer) for conflict in outcome.conflicts
        ]
        repeated = statement if statement and outcome.attributes is statement.attributes else None
        draft = Draft(override, outcome.attributes, outcome.owners, declared_in, pointer, repeated)
        return draft, conflicts

    def _merged(self, override: CurrentOverride, statement: Statement | None) -> WriteOutcome:
        owners = override.owners_text if override.owners else ""
        stated = statement.text if statement else ""
        key = (override.address.resource_type, override.text or "", owners, stated)
        if (outcome := self.outcomes.get(key)) is None:
            outcome = self.outcomes[key] = self._merge(override, statement)
        return outcome

    def _merge(self, override: CurrentOverride, statement: Statement | None) -> WriteOutcome:
        rule, manager = self.catalogue.get(override.address.resource_type).rule, self.options.manager
        if statement is None:
            return apply_attributes(override.attributes, override.owners, None, rule, manager)
        if override.text == statement.text:
            # The same document as the same object needs no further comparison.
            return apply_attributes(override.attributes, override.owners, override.attributes, rule, manager)
        before = override.attributes
        if (
            override.text
            and REMOVE not in override.text
            and manages_alone(before, override.owners, rule, manager)
        ):
            return apply_attributes(None, {}, statement.attributes, rule, manager)
        return apply_attributes(override.attributes, override.owners, statement.attributes, rule, manager)


def _refuse_repeated(statements: Sequence[Statement]) -> None:
    first: dict[Address, Statement] = {}
    errors = []
    for statement in statements:
        earlier = first.setdefault(statement.address, statement)
        if earlier is not statement:
            other = earlier.declared_in or earlier.pointer
            message = f"{statement.address} is stated twice, first at {other}."
            errors.append(FieldError(statement.pointer, "stated_twice", message))
    if errors:
        raise InvalidRequest(errors[0].message, errors=errors[:MAX_REPORTED])
