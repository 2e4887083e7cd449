"""Change overrides: the one way in which anything that is set changes, one override or ten thousand.

Whoever changes overrides first calls `begin`, which locks the revision counter, then looks at what stands,
decides what shall stand (drafts), and calls `commit`, which validates, measures the impact and writes
overrides, history, audit rows and events: all of it in the caller's transaction, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from django.conf import settings

from controlplane.errors import (
    ConfirmationRequired,
    ControlplaneError,
    FieldError,
    InheritedConflict,
    UnknownDomain,
    UnknownProject,
)
from controlplane.identity.actors import Actor
from controlplane.scopes import by_project
from overrides.editing import storage
from overrides.editing.blast_radius import BlastRadius, measure
from overrides.editing.confirmation import Effect, confirmation_for, digest_of, objection_to
from overrides.editing.impact import Affected
from overrides.editing.plans import Plan, PlannedChange, effective_changes, kind_of
from overrides.editing.removal_guard import Removals, wants_confirmation
from overrides.editing.validation import check_stated
from overrides.field_managers import Owners
from overrides.loading.catalogue_cache import current_catalogue
from overrides.loading.current import Standing
from overrides.loading.revisions import lock_revisions
from overrides.projects import check_listed, known_names
from overrides.resolution.addresses import Address, Statement
from overrides.resolution.merging import Attributes, canonical
from overrides.resource_types.catalogue import Catalogue, RuleChange
from overrides.write_mode import check_writable

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
    """What the caller agrees to. confirm: the number of affected scopes, or the digest of the plan."""

    confirm: str = ""
    wants_plan: bool = False
    # False for a dry run, and where nobody could confirm: files are reviewed where they are kept.
    asks: bool = True
    # False: what the type calls wrong is stored all the same. Guard rails hold always.
    checks: bool = True
    # False: each row is checked by itself, at any level, and what it then contradicts is a warning.
    checks_inherited: bool = True


DEFAULT_LIMITS = Limits()


def begin(actor: Actor) -> Catalogue:
    """Take the lock that every change needs; return the types and rails that hold.

    Raises SourceIsReadOnly.
    """
    check_writable(actor)
    lock_revisions()
    return current_catalogue()


def commit(
    drafts: Sequence[Draft],
    catalogue: Catalogue,
    *,
    actor: Actor,
    limits: Limits = DEFAULT_LIMITS,
    earlier: Catalogue | None = None,
    removals: Removals | None = None,
) -> Plan:
    """Validate and write. Raises UnknownProject, InvalidAttributes, RailBroken, InheritedConflict, ...

    earlier: the catalogue before this transaction, where it has changed types or rails already: the plan,
    the validity check and the confirmation are then about all of it. removals: what the drafts remove.
    """
    _check_known(drafts)
    changing = [draft for draft in drafts if draft.changes]
    rules = RuleChange(earlier or catalogue, catalogue)
    writes = [(draft.statement, draft.standing.attributes) for draft in changing if draft.after is not None]
    check_stated(writes, rules, only_rails=not limits.checks, any_level=not limits.checks_inherited)
    asks_removal = removals is not None and wants_confirmation(removals)
    exact = limits.wants_plan or bool(limits.confirm) or asks_removal
    radius = measure(changing, rules, exact=exact)
    if limits.checks and limits.checks_inherited:
        _refuse_what_would_be_invalid(_refusable(radius.affected, changing, rules))
    plan = _plan(drafts, rules, radius, limits, removals)
    revision = storage.store(changing, actor) if changing else 0
    storage.move_declarations([draft for draft in drafts if not draft.changes])
    return replace(plan, revision=revision)


def _plan(
    drafts: Sequence[Draft],
    rules: RuleChange,
    radius: BlastRadius,
    limits: Limits,
    removals: Removals | None,
) -> Plan:
    """Raises ConfirmationRequired, unless nothing changes or nobody is to be asked."""
    parts = list(_digest_parts(drafts, rules, radius.count))
    effect = Effect(radius.count, digest_of(parts), settings.CONFIRM_ABOVE_SCOPES, removals)
    if parts and limits.asks:
        _ask_for_confirmation(effect, limits)
    return Plan(
        0,
        tuple(_planned(draft, rules.after) for draft in drafts),
        radius.count,
        effective_changes(radius.affected[:_TOLD]) if limits.wants_plan else (),
        effect.digest if parts else "",
        confirmation_for(effect) if parts else None,
        radius.kept_out,
    )


def _digest_parts(drafts: Sequence[Draft], rules: RuleChange, affected: int) -> Iterator[str]:
    """A text for each change, and none if nothing changes."""
    changing = [draft for draft in drafts if draft.changes]
    changed_rules = rules.scopes_by_type()
    if changing or changed_rules:
        yield f"{affected}"
    for draft in sorted(changing, key=lambda draft: (by_project(draft.address.scope), str(draft.address))):
        yield f"{draft.address} {draft.standing.version} {canonical([draft.after, draft.owners])}"
    for name in sorted(changed_rules):
        types = [catalogue.types.get(name) for catalogue in (rules.before, rules.after)]
        yield f"{name} {[None if one is None else one.version for one in types]}"
    for rail in rules.changed_rails():
        yield f"{rail.name} {rail.origin.version} {rail.scope} {canonical(rail.origin.rule)}"


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


def _refusable(affected: Sequence[Affected], drafts: Sequence[Draft], rules: RuleChange) -> list[Affected]:
    """The affected scopes of changed rules, and those that inherit a written row.

    What only a deletion uncovers refuses nothing.
    """
    written = {
        (draft.address.resource_type, draft.address.scope) for draft in drafts if draft.after is not None
    }
    changed_rules = rules.scopes_by_type()
    return [
        it
        for it in affected
        if it.resource_type.name in changed_rules
        or any((it.resource_type.name, rung) in written for rung in it.scope.ladder())
    ]


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


def _ask_for_confirmation(effect: Effect, limits: Limits) -> None:
    if (objection := objection_to(effect, limits.confirm)) is not None:
        raise ConfirmationRequired(
            f"{objection.reason} Review the plan with dry_run=true, then send confirm={objection.confirm} "
            "to go ahead.",
            affected=effect.affected,
            confirm=objection.confirm,
            reason=objection.reason,
            removed=len(effect.removals.addresses) if effect.removals else 0,
        )
