"""Change overrides: the one way in which anything that is set changes, one override or ten thousand.

Whoever changes overrides first calls `begin`, which locks the revision counter, then looks at what stands,
decides what shall stand (drafts), and calls `commit`, which validates, measures the impact and writes
overrides, history, audit rows and events: all of it in the caller's transaction, or nothing.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from django.conf import settings

from controlplane.access.actors import Actor
from controlplane.errors import (
    ConfirmationRequired,
    ControlplaneError,
    FieldError,
    InheritedConflict,
    UnknownDomain,
    UnknownProject,
)
from controlplane.scopes import Level, Scope, by_project
from overrides import storing
from overrides.addresses import Address, Statement
from overrides.catalogue import Catalogue
from overrides.editions import current_catalogue
from overrides.families import load_family, registered_pairs
from overrides.impact import Affected, Comparison, targets_of
from overrides.layers import default_layers
from overrides.merging import Attributes, canonical
from overrides.ownership import Owners
from overrides.plans import Plan, PlannedChange, effective_changes, kind_of
from overrides.platform_defaults import platform_defaults
from overrides.projects import check_listed, known_names
from overrides.revisions import lock_revisions
from overrides.sources import check_writable
from overrides.standing import Standing
from overrides.validation import check_stated

# So many effective changes are told in a plan, and so many scopes in an error.
_TOLD = 100


@dataclass(frozen=True)
class Draft:
    """What shall stand at an address. after: None deletes. pointer: where the request says so."""

    standing: Standing
    after: Attributes | None
    owners: Owners
    declared_in: str = ""
    pointer: str = "/attributes"

    @property
    def address(self) -> Address:
        return self.standing.address

    @property
    def statement(self) -> Statement:
        """What stands afterwards, where that is anything."""
        assert self.after is not None
        return Statement(self.address, self.after, self.declared_in, self.pointer)

    @cached_property
    def changes(self) -> bool:
        before = self.standing
        if before.attributes is None or self.after is None:
            return before.attributes is not self.after
        if before.attributes is self.after and before.owners is self.owners:
            return False
        return canonical([before.attributes, before.owners]) != canonical([self.after, self.owners])


@dataclass(frozen=True, slots=True)
class Limits:
    """What the caller agrees to. confirm: the number of affected scopes that it was told of."""

    confirm: int | None = None
    wants_plan: bool = False
    # False for those that nobody could confirm: files are reviewed where they are kept.
    asks: bool = True
    # False: what the type calls wrong is stored all the same. Guard rails hold always.
    checks: bool = True


def begin(actor: Actor) -> Catalogue:
    """Take the lock that every change needs; return the types and rails that hold.

    Raises SourceIsReadOnly.
    """
    check_writable(actor)
    lock_revisions()
    return current_catalogue()


def commit(drafts: Sequence[Draft], catalogue: Catalogue, *, actor: Actor, limits: Limits = Limits()) -> Plan:
    """Validate and write. Raises UnknownProject, InvalidAttributes, RailBroken, InheritedConflict, ..."""
    _check_known(drafts)
    changing = [one for one in drafts if one.changes]
    stated = [one.statement for one in changing if one.after is not None]
    check_stated(stated, catalogue, only_rails=not limits.checks)
    affected, count = _measure(changing, catalogue, limits)
    if limits.checks:
        _refuse_what_would_be_invalid(affected)
    _ask_for_confirmation(count, limits)
    revision = storing.store(changing, actor) if changing else 0
    storing.move_declarations([one for one in drafts if not one.changes])
    return Plan(
        revision,
        tuple(_planned(one, catalogue) for one in drafts),
        count,
        effective_changes(affected[:_TOLD]) if limits.wants_plan else (),
    )


def _check_known(drafts: Sequence[Draft]) -> None:
    """As `check_known`, with a pointer to each document that names something unknown."""
    projects, domains = known_names([one.address.scope for one in drafts])
    wrong: list[tuple[ControlplaneError, str]] = []
    for one in drafts:
        try:
            check_listed([one.address.scope], projects, domains)
        except (UnknownProject, UnknownDomain) as error:
            wrong.append((error, one.pointer))
        if len(wrong) == _TOLD:
            break
    if wrong:
        wrong[0][0].errors = tuple(FieldError(pointer, error.code, error.detail) for error, pointer in wrong)
        raise wrong[0][0]


def _planned(draft: Draft, catalogue: Catalogue) -> PlannedChange:
    before = draft.standing.attributes
    rule = catalogue.get(draft.address.resource_type).rule
    return PlannedChange(
        draft.address,
        kind_of(before, draft.after, changes=draft.changes),
        before,
        draft.after,
        rule,
        draft.standing.version + draft.changes,
        draft.declared_in,
    )


def _measure(drafts: Sequence[Draft], catalogue: Catalogue, limits: Limits) -> tuple[list[Affected], int]:
    """Where effective values change, and at how many scopes. Looks no closer than anybody asks."""
    most = settings.CONFIRM_ABOVE_SCOPES or sys.maxsize
    exact = limits.wants_plan or limits.confirm is not None
    by_type: dict[str, list[Draft]] = defaultdict(list)
    for draft in drafts:
        by_type[draft.address.resource_type].append(draft)
    affected: list[Affected] = []
    felt: set[Scope] = set()
    for name, of_type in by_type.items():
        targets, comparison = _compare(name, of_type, catalogue)
        if len(targets) <= most and not exact and not comparison.resource_type.may_resolve_badly:
            felt |= targets
            continue
        found = comparison.affected(sorted(targets, key=lambda one: (one.level, by_project(one))))
        affected += found
        felt |= {one.scope for one in found}
    return affected, len(felt)


def _compare(name: str, drafts: Sequence[Draft], catalogue: Catalogue) -> tuple[set[Scope], Comparison]:
    changed = {draft.address.scope: draft for draft in drafts}
    one = catalogue.get(name)
    before = load_family(name, list(changed), known=set(changed))
    for scope, draft in changed.items():
        if draft.standing.attributes is not None:
            before[scope] = canonical(draft.standing.attributes)
    after = {scope: text for scope, text in before.items() if scope not in changed}
    after |= {scope: canonical(it.after) for scope, it in changed.items() if it.after is not None}
    defaults = platform_defaults()
    own = default_layers(one, Scope(), defaults)
    of_domains = [layer for scope in _domains(changed) for layer in default_layers(one, scope, defaults)]
    layers = list({(layer.scope, id(layer.attributes)): layer for layer in [*own, *of_domains]}.values())
    rails = catalogue.rails_of(name)
    # Where only a rail of a workflow stands, what is inherited can resolve to something found nowhere else.
    guarded = [rail.scope for rail in rails if rail.scope.level > Level.PROJECT_DOMAIN]
    targets = targets_of(set(changed), [*before, *after, *guarded], registered_pairs(changed))
    return targets, Comparison(one, before, after, rails, layers)


def _domains(changed: Iterable[Scope]) -> list[Scope]:
    defaults = platform_defaults()
    return [scope for scope, _, _ in defaults.entries if scope.domain]


def _refuse_what_would_be_invalid(affected: Sequence[Affected]) -> None:
    wrong = [one for one in affected if one.errors]
    if not wrong:
        return
    scopes = [str(one.scope) for one in wrong]
    told = [
        replace(error, pointer=f"{one.resource_type.document_key} at {one.scope}: {error.pointer}")
        for one in wrong[:_TOLD]
        for error in one.errors
    ]
    first = wrong[0].errors[0]
    raise InheritedConflict(
        f"{len(wrong)} scopes would resolve to something invalid. At {scopes[0]}: {first.message}",
        errors=[FieldError("", one.code, f"{one.pointer} {one.message}", one.hint) for one in told],
        scopes=scopes[:_TOLD],
    )


def _ask_for_confirmation(count: int, limits: Limits) -> None:
    most = settings.CONFIRM_ABOVE_SCOPES
    if limits.confirm is not None and limits.confirm != count:
        raise ConfirmationRequired(
            f"You confirmed {limits.confirm} scopes, and it would be {count}. Look at the plan again.",
            affected=count,
        )
    if most and count > most and limits.confirm is None and limits.asks:
        raise ConfirmationRequired(
            f"This changes what applies at {count} scopes. If that is meant, send it with confirm={count}.",
            affected=count,
        )
