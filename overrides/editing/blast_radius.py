"""Measure a change of overrides, resource types or guard rails: where effective values change.

Also lists the stored values that changed guard rails newly keep from applying.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from django.conf import settings

from controlplane.scopes import Level, Scope, by_project
from overrides.editing.draft import Draft
from overrides.editing.impact import AffectedScope, Comparison, RowTexts, TypeRules, targets_of
from overrides.editing.plans import KeptOut
from overrides.loading.layers import default_layers
from overrides.loading.platform_defaults import platform_defaults
from overrides.loading.related_rows import load_related_rows, registered_pairs
from overrides.resolution.leaves import name_of
from overrides.resolution.merging import MergeRule
from overrides.resolution.rails import GuardRail, breaches
from overrides.resource_types.catalogue import Catalogue, RuleChange


@dataclass(frozen=True, slots=True)
class BlastRadius:
    """The reach of a change.

    affected: scopes whose effective values change, as far as they were computed. count: of all such scopes.
    kept_out: stored values that changed guard rails newly keep from applying.
    """

    affected: tuple[AffectedScope, ...]
    count: int
    kept_out: tuple[KeptOut, ...] = ()


def measure(drafts: Sequence[Draft], rules: RuleChange, *, exact: bool) -> BlastRadius:
    """Find where effective values change. With `exact` False, skip what cannot matter for confirmation."""
    limit = settings.CONFIRM_ABOVE_SCOPES or sys.maxsize
    by_type: dict[str, list[Draft]] = defaultdict(list)
    for draft in drafts:
        by_type[draft.address.resource_type].append(draft)
    changed_rules = rules.scopes_by_type()
    affected: list[AffectedScope] = []
    kept_out: list[KeptOut] = []
    reached: set[Scope] = set()
    for name in {**by_type, **changed_rules}:
        scopes = changed_rules.get(name, set())
        targets, comparison = _compare(name, by_type[name], scopes, rules)
        legal = not comparison.resource_type.can_resolve_invalid
        if len(targets) <= limit and not exact and not scopes and legal:
            reached |= targets
            continue
        changes = comparison.affected(sorted(targets, key=lambda scope: (scope.level, by_project(scope))))
        affected += changes
        reached |= {change.scope for change in changes}
        kept_out += _kept_out(comparison, rules) if scopes else ()
    return BlastRadius(tuple(affected), len(reached), tuple(kept_out))


def _compare(
    name: str, drafts: Sequence[Draft], rule_scopes: Collection[Scope], rules: RuleChange
) -> tuple[set[Scope], Comparison]:
    changed = {draft.address.scope: draft for draft in drafts}
    roots = {*changed, *rule_scopes}
    before: dict[Scope, str] = load_related_rows(name, list(roots), excluded=set(changed))
    for scope, draft in changed.items():
        if draft.current.text is not None:
            before[scope] = draft.current.text
    after = {scope: text for scope, text in before.items() if scope not in changed}
    after |= {scope: draft.text for scope, draft in changed.items() if draft.after is not None}
    current = _rules_of(name, rules.after)
    earlier = _rules_of(name, rules.before) if rule_scopes else None
    # At a workflow with only a guard rail, inherited rows can resolve to values that exist nowhere else.
    rails = [*current.rails, *(earlier.rails if earlier else ())]
    guarded = [rail.scope for rail in rails if rail.scope.level > Level.PROJECT_DOMAIN]
    targets = targets_of(roots, [*before, *after, *guarded], registered_pairs(roots))
    return targets, Comparison(before, after, current, earlier)


def _rules_of(name: str, catalogue: Catalogue) -> TypeRules:
    resource_type = catalogue.types.get(name)
    if resource_type is None:
        return TypeRules(None)
    defaults = platform_defaults()
    scopes = [Scope(), *(scope for scope, _, _ in defaults.entries if scope.domain)]
    layers = [layer for scope in scopes for layer in default_layers(resource_type, scope, defaults)]
    single = {(layer.scope, id(layer.attributes)): layer for layer in layers}
    return TypeRules(resource_type, catalogue.rails_of(name), list(single.values()))


def _kept_out(comparison: Comparison, rules: RuleChange) -> Iterator[KeptOut]:
    name, rule = comparison.resource_type.name, comparison.resource_type.rule
    for rail in rules.changed_rails():
        if rail.resource_type == name:
            yield from _kept_out_by(rail, rules.earlier_rail(rail.name), comparison.after, rule)


def _kept_out_by(
    rail: GuardRail, earlier: GuardRail | None, rows: RowTexts, rule: MergeRule
) -> Iterator[KeptOut]:
    """Yield the values that the rail newly refuses, where it governs or is inherited into."""
    for scope, attributes in _decoded(rows).items():
        if rail.scope.joined(scope) is None:
            continue
        earlier_paths = (
            {breach.path for breach in breaches([earlier], scope.level, attributes, rule)}
            if earlier is not None and earlier.scope.joined(scope) is not None
            else set()
        )
        for breach in breaches([rail], scope.level, attributes, rule):
            if breach.path not in earlier_paths:
                leaf = name_of(breach.path)
                yield KeptOut(scope, rail.resource_type, leaf, breach.value, rail.name, breach.reason)


def _decoded(rows: RowTexts) -> Mapping[Scope, dict[str, object]]:
    return {scope: msgspec.json.decode(text) for scope, text in rows.items()}
