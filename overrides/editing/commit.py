"""Change overrides: the only way to change what is set, from one override to ten thousand.

A caller first calls `begin`, which locks the revision counter, then loads the current overrides, decides
on new ones (drafts), and calls `commit`, which validates, measures the impact and writes overrides, history,
audit entries and events: all of it in the caller's transaction, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from django.conf import settings

from controlplane.errors import (
    ConfirmationRequired,
    ControlplaneError,
    FieldError,
    InheritedConflict,
    UnknownDomain,
    UnknownProject,
)
from controlplane.formats.counts import counted
from controlplane.identity.actors import Actor
from controlplane.scopes import Scope, by_project
from overrides.approvals.decisions import NO_CONSENT, Consent
from overrides.editing import storage
from overrides.editing.approved import check_approved, record_bypassed, with_bypass_reason
from overrides.editing.blast_radius import BlastRadius, measure
from overrides.editing.confirmation import Effect, confirmation_for, digest_of, objection_to
from overrides.editing.draft import Draft
from overrides.editing.frozen import check_frozen, record_overridden, with_reason
from overrides.editing.impact import AffectedScope
from overrides.editing.plans import Plan, PlannedChange, effective_changes, kind_of
from overrides.editing.related_warnings import related_warnings
from overrides.editing.removal_guard import Removals, needs_confirmation
from overrides.editing.validation import check_stated
from overrides.freezes.decisions import FreezeOverride
from overrides.loading.catalogue_cache import current_catalogue
from overrides.loading.revisions import lock_revisions
from overrides.projects import check_listed, known_names
from overrides.resolution.merging import canonical
from overrides.resource_types.catalogue import Catalogue, RuleChange
from overrides.write_mode import check_writable

# The number of effective changes in a plan, and of scopes in an error.
MAX_REPORTED = 100


@dataclass(frozen=True, slots=True)
class CommitOptions:
    """What the caller confirms and checks. confirm: the number of affected scopes, or the plan's digest."""

    confirm: str = ""
    wants_plan: bool = False
    # False for a dry run, and where nobody can confirm: files are reviewed in their repository.
    asks: bool = True
    # False: attributes that the type considers invalid are stored. Guard rails always apply.
    checks: bool = True
    # False: each row is checked alone, at any level; conflicts with inherited values are warnings.
    checks_inherited: bool = True
    # None: no freeze is overridden.
    freeze_override: FreezeOverride | None = None
    # False for a dry run: a freeze is in the plan, and refuses nothing.
    heeds_freezes: bool = True
    # The approvals of the change, or the wish to do without.
    consent: Consent = NO_CONSENT
    # False for a dry run, for files, and for the end of a scheduled change.
    heeds_approvals: bool = True
    # False: no quota refuses it. Files take effect as a whole or not at all.
    heeds_quotas: bool = True


DEFAULT_OPTIONS = CommitOptions()


def begin(actor: Actor) -> Catalogue:
    """Take the lock that every change needs; return the types and rails in effect.

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
    options: CommitOptions = DEFAULT_OPTIONS,
    earlier: Catalogue | None = None,
    removals: Removals | None = None,
) -> Plan:
    """Validate and write. Raises ChangeFrozen, ApprovalRequired, UnknownProject, InvalidAttributes,
    RailBroken, InheritedConflict, QuotaExceeded, ...

    earlier: the catalogue before this transaction, if it has already changed types or rails: the plan,
    the validity check and the confirmation then cover those changes too. removals: what the drafts remove.
    """
    _check_scopes_exist(drafts)
    changing = [draft for draft in drafts if draft.changes]
    override = options.freeze_override
    frozen_by = check_frozen(changing, override, refuses=options.heeds_freezes)
    actor = with_reason(actor, override, frozen_by)
    protected_by = check_approved(changing, options.consent, refuses=options.heeds_approvals)
    actor = with_bypass_reason(actor, options.consent, protected_by)
    rules = RuleChange(earlier or catalogue, catalogue)
    writes = [
        (draft.statement, draft.current)
        for draft in changing
        if draft.after is not None and draft.stated is None
    ]
    check_stated(writes, rules, only_rails=not options.checks, any_level=not options.checks_inherited)
    asks_removal = removals is not None and needs_confirmation(removals)
    exact = options.wants_plan or bool(options.confirm) or asks_removal
    radius = measure(changing, rules, exact=exact)
    if options.checks and options.checks_inherited:
        invalid = [scope for scope in radius.affected if scope.errors]
        _refuse_invalid_scopes(_refusable(invalid, changing, rules))
    plan = _plan(drafts, rules, radius, options, removals)
    revision = storage.store(changing, actor, heeds_quotas=options.heeds_quotas) if changing else 0
    record_overridden(frozen_by, override, actor, revision)
    record_bypassed(protected_by, options.consent, actor, revision)
    storage.move_declarations([draft for draft in drafts if not draft.changes])
    # A catalogue of this transaction must not be read: it may be rolled back.
    asks_warnings = options.wants_plan and rules.before is rules.after
    warnings = related_warnings(radius.affected, catalogue) if asks_warnings else ()
    held = replace(plan, frozen_by=frozen_by, protected_by=protected_by)
    return replace(held, revision=revision, warnings=warnings)


def _plan(
    drafts: Sequence[Draft],
    rules: RuleChange,
    radius: BlastRadius,
    options: CommitOptions,
    removals: Removals | None,
) -> Plan:
    """Raises ConfirmationRequired, unless nothing changes or the caller does not ask."""
    parts = list(_digest_parts(drafts, rules, radius.count))
    effect = Effect(radius.count, digest_of(parts), settings.CONFIRM_ABOVE_SCOPES, removals)
    if parts and options.asks:
        _ask_for_confirmation(effect, options)
    return Plan(
        0,
        tuple(_planned_change(draft, rules.after) for draft in drafts),
        radius.count,
        effective_changes(radius.affected[:MAX_REPORTED]) if options.wants_plan else (),
        effect.digest if parts else "",
        confirmation_for(effect) if parts else None,
        radius.kept_out,
        scopes=frozenset(each.scope for each in radius.affected) if options.wants_plan else frozenset(),
    )


def _digest_parts(drafts: Sequence[Draft], rules: RuleChange, affected: int) -> Iterator[str]:
    """Yield a text for each change; nothing if nothing changes."""
    changing = [draft for draft in drafts if draft.changes]
    changed_rules = rules.scopes_by_type()
    if changing or changed_rules:
        yield f"{affected}"
    for draft in sorted(changing, key=lambda draft: (by_project(draft.address.scope), draft.name)):
        yield f"{draft.name} {draft.current.version} [{draft.text},{draft.owners_text}]"
    for name in sorted(changed_rules):
        yield f"{name} {[rules.before.version_of(name), rules.after.version_of(name)]}"
    for rail in rules.changed_rails():
        yield f"{rail.name} {rail.origin.version} {rail.scope} {canonical(rail.origin.rule)}"


def _check_scopes_exist(drafts: Sequence[Draft]) -> None:
    """Like `check_known`, with a pointer to each document that names an unknown project or domain."""
    named = {draft.address.scope.path[:2] for draft in drafts}
    projects, domains = known_names([Scope(*pair) for pair in named])
    if all(domain in domains | {""} and project in projects | {""} for domain, project in named):
        return
    problems: list[tuple[ControlplaneError, str]] = []
    for draft in drafts:
        try:
            check_listed([draft.address.scope], projects, domains)
        except (UnknownProject, UnknownDomain) as error:
            problems.append((error, draft.pointer))
        if len(problems) == MAX_REPORTED:
            break
    if problems:
        problems[0][0].errors = tuple(
            FieldError(pointer, error.code, error.detail) for error, pointer in problems
        )
        raise problems[0][0]


def _planned_change(draft: Draft, catalogue: Catalogue) -> PlannedChange:
    before = draft.current.attributes
    rule = catalogue.get(draft.address.resource_type).rule
    return PlannedChange(
        draft.address,
        kind_of(before, draft.after, changes=draft.changes),
        before,
        draft.after,
        rule,
        draft.current.version + draft.changes,
        draft.declared_in,
    )


def _refusable(
    invalid: Sequence[AffectedScope], drafts: Sequence[Draft], rules: RuleChange
) -> list[AffectedScope]:
    """Return the invalid scopes of changed rules, and those that inherit a written row.

    Values that only a deletion uncovers are never refused.
    """
    if not invalid:
        return []
    written = {
        (draft.address.resource_type, draft.address.scope) for draft in drafts if draft.after is not None
    }
    changed_rules = rules.scopes_by_type()
    return [
        scope
        for scope in invalid
        if scope.resource_type.name in changed_rules
        or any((scope.resource_type.name, rung) in written for rung in scope.scope.ladder())
    ]


def _refuse_invalid_scopes(invalid: Sequence[AffectedScope]) -> None:
    if not invalid:
        return
    scopes = [str(scope.scope) for scope in invalid]
    errors = [
        replace(error, pointer=f"{scope.resource_type.document_key} at {scope.scope}: {error.pointer}")
        for scope in invalid[:MAX_REPORTED]
        for error in scope.errors
    ]
    first = invalid[0].errors[0]
    raise InheritedConflict(
        f"{counted(len(invalid), 'scope')} would resolve to invalid attributes. "
        f"First, at {scopes[0]}: {first.message}",
        errors=[
            FieldError("", error.code, f"{error.pointer} {error.message}", error.hint) for error in errors
        ],
        scopes=scopes[:MAX_REPORTED],
    )


def _ask_for_confirmation(effect: Effect, options: CommitOptions) -> None:
    if (objection := objection_to(effect, options.confirm)) is not None:
        raise ConfirmationRequired(
            f"{objection.reason} Review the plan with dry_run=true, then send confirm={objection.confirm} "
            "to go ahead.",
            affected=effect.affected,
            confirm=objection.confirm,
            reason=objection.reason,
            removed=len(effect.removals.addresses) if effect.removals else 0,
        )
