"""The impact of a change of overrides on the scopes that inherit. Pure.

A change can alter values, and make documents invalid, at scopes that the request does not name. The scopes to
compare are every scope with a row of the type, every registered project in every domain, where a row of the
domain and a row of the project combine, and every workflow with its own guard rail. No other scope can
resolve to anything new.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import msgspec

from controlplane.errors import FieldError
from controlplane.scopes import Level, Scope
from overrides.resolution.merging import Strategy, canonical, merge
from overrides.resolution.rails import GuardRail
from overrides.resolution.resolve import Layer, values_only
from overrides.resource_types import ResourceType

RowTexts = Mapping[Scope, str]
# The rows on a scope's ladder, least specific first.
LadderRows = tuple[tuple[Level, str], ...]


@dataclass(frozen=True, slots=True)
class AffectedScope:
    """A scope whose effective attributes of one type change. errors: new validation errors."""

    scope: Scope
    resource_type: ResourceType
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    errors: tuple[FieldError, ...]


class Resolved(NamedTuple):
    """Effective attributes, and their canonical JSON."""

    values: dict[str, Any]
    text: str


_NOTHING = Resolved({}, "{}")
# The rungs of a ladder down to a project and domain, and the levels of the rungs below.
_UPPER_RUNGS = 4
_LOWER_LEVELS = (Level.WORKFLOW, Level.LAUNCH_PLAN)


@dataclass(frozen=True, slots=True, eq=False)
class TypeRules:
    """The rules that resolve the rows of one type.

    resource_type: None if the type does not exist. defaults: all platform default layers; resolving
    selects those that cover the target.
    """

    resource_type: ResourceType | None
    rails: Sequence[GuardRail] = ()
    defaults: Sequence[Layer] = ()

    @property
    def is_plain(self) -> bool:
        """True if no rule but the strategy decides what rows resolve to, and the result is always valid."""
        resource_type = self.resource_type
        return (
            resource_type is not None
            and not (self.rails or self.defaults or resource_type.can_resolve_invalid)
            and not (resource_type.rule.keyed_lists or resource_type.rule.combine)
        )

    def key_at(self, target: Scope) -> tuple[Any, ...]:
        """Return a key that is equal for targets at which these rules resolve the same rows alike."""
        governing = tuple(rail.name for rail in self.rails if rail.scope.covers(target))
        return governing, target.domain if self.defaults else ""


@dataclass(slots=True)
class Comparison:
    """One type before and after a change: rows as canonical JSON by scope, and their rules.

    earlier_rules: None if the rules do not change. Most scopes resolve the same few documents, so each
    combination is resolved once, and shared inherited layers are merged once.
    """

    before: RowTexts
    after: RowTexts
    rules: TypeRules
    earlier_rules: TypeRules | None = None
    _comparisons: dict[Any, AffectedScope | None] = field(default_factory=dict)
    _resolved: dict[Any, Resolved] = field(default_factory=dict)
    _upper: dict[tuple[str, str], tuple[LadderRows, LadderRows]] = field(default_factory=dict)
    _documents: dict[str, Resolved] = field(default_factory=dict)
    _is_plain: bool = field(init=False)

    def __post_init__(self) -> None:
        self._is_plain = self.earlier_rules is None and self.rules.is_plain

    @property
    def resource_type(self) -> ResourceType:
        """The type after the change; if it is deleted, the type before."""
        resource_type = self.rules.resource_type or (self.earlier_rules or self.rules).resource_type
        assert resource_type is not None
        return resource_type

    def affected(self, targets: Iterable[Scope]) -> list[AffectedScope]:
        """Return the targets with a change, each with its values before and after."""
        changes = ((target, self._at(target)) for target in targets)
        return [
            change if change.scope is target else replace(change, scope=target)
            for target, change in changes
            if change is not None
        ]

    def _at(self, target: Scope) -> AffectedScope | None:
        old, new = self._rows_of(target)
        earlier = self.earlier_rules or self.rules
        if old == new and earlier is self.rules:
            return None
        if self._is_last_row(old) and self._is_last_row(new):
            # Cheaper than the key of a combination.
            return self._compare(target, self._document(old), self._document(new))
        key = (old, new, earlier.key_at(target), self.rules.key_at(target))
        if key not in self._comparisons:
            before = self._values(target, old, earlier, key[2])
            self._comparisons[key] = self._compare(
                target, before, self._values(target, new, self.rules, key[3])
            )
        return self._comparisons[key]

    def _is_last_row(self, rows: LadderRows) -> bool:
        """Return whether the rows resolve to the document of the last row; no rows to nothing."""
        if not (self._is_plain and rows):
            return self._is_plain
        replaces = len(rows) == 1 or self.resource_type.rule.strategy is Strategy.REPLACE
        return replaces and "null" not in rows[-1][1]

    def _document(self, rows: LadderRows) -> Resolved:
        """Return the document of the last row."""
        if not rows:
            return _NOTHING
        text = rows[-1][1]
        if (document := self._documents.get(text)) is None:
            values = msgspec.json.decode(text)
            document = self._documents[text] = Resolved(values, canonical(values))
        return document

    def _rows_of(self, target: Scope) -> tuple[LadderRows, LadderRows]:
        """Return the rows on the target's ladder, before and after; those of a project and domain once."""
        ladder, pair = target.ladder(), (target.domain, target.project)
        if (upper := self._upper.get(pair)) is None:
            rungs = ladder[:_UPPER_RUNGS]
            upper = self._upper[pair] = (_rows(rungs, self.before), _rows(rungs, self.after))
        old, new = upper
        for level, rung in zip(_LOWER_LEVELS, ladder[_UPPER_RUNGS:], strict=False):
            if (text := self.before.get(rung)) is not None:
                old = (*old, (level, text))
            if (text := self.after.get(rung)) is not None:
                new = (*new, (level, text))
        return old, new

    def _compare(self, target: Scope, before: Resolved, after: Resolved) -> AffectedScope | None:
        earlier = (self.earlier_rules or self.rules).resource_type
        is_unchanged = before.text == after.text
        if is_unchanged and earlier is self.rules.resource_type:
            return None
        errors = _new_errors(earlier, self.rules.resource_type, before.values, after.values)
        if is_unchanged and not errors:
            return None
        return AffectedScope(target, self.resource_type, before.values, after.values, errors)

    def _values(self, target: Scope, rows: LadderRows, rules: TypeRules, rules_key: Any) -> Resolved:
        """Resolve the rows: the last one merged over the result of those above it."""
        if rules.resource_type is None:
            return _NOTHING
        key = (id(rules), rows, rules_key)
        if (resolved := self._resolved.get(key)) is None:
            rule = rules.resource_type.rule
            inherited = self._values(target, rows[:-1], rules, rules_key).values if rows else {}
            if rows and not rules.rails:
                values = merge(inherited, msgspec.json.decode(rows[-1][1]), rule)
            else:
                layers = [_layer(target, *rows[-1])] if rows else rules.defaults
                values = values_only(target, layers, rule, rules.rails, inherited)
            resolved = self._resolved[key] = Resolved(values, canonical(values))
        return resolved


def _new_errors(
    earlier: ResourceType | None,
    resource_type: ResourceType | None,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
) -> tuple[FieldError, ...]:
    """Return the validation errors after the change that did not exist before."""
    # Empty values are always valid: the type does not apply here.
    if resource_type is None or not after or not resource_type.can_resolve_invalid:
        return ()
    if not (errors := resource_type.resolved_errors(after)):
        return ()
    earlier_errors = earlier.resolved_errors(before) if earlier and before else []
    existing = {(error.pointer, error.code) for error in earlier_errors}
    return tuple(error for error in errors if (error.pointer, error.code) not in existing)


def _layer(target: Scope, level: Level, text: str) -> Layer:
    return Layer(target.at(level), msgspec.json.decode(text))


def _rows(ladder: Iterable[Scope], texts: RowTexts) -> LadderRows:
    return tuple((rung.level, text) for rung in ladder if (text := texts.get(rung)) is not None)


def targets_of(changed: Set[Scope], rows: Iterable[Scope], pairs: Iterable[Scope]) -> set[Scope]:
    """Return the scopes that the change can affect.

    rows: the scopes with a row or a guard rail. pairs: every registered project in every domain.
    """
    if Scope() in changed:
        return {*rows, *pairs, *changed}
    broadest = min((scope.level for scope in changed), default=Level.GLOBAL)
    below = {scope for scope in {*rows, *pairs} if scope.level > broadest}
    return {*changed, *(scope for scope in below if any(above in changed for above in scope.ladder()))}
