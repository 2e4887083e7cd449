"""The impact of a change of overrides on the scopes that inherit. Pure.

A change can alter values, and make documents invalid, at scopes that the request does not name. The scopes to
compare are every scope with a row of the type, every registered project in every domain, where a row of the
domain and a row of the project combine, and every workflow with its own guard rail. No other scope can
resolve to anything new.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import msgspec

from controlplane.errors import FieldError
from controlplane.scopes import Level, Scope
from overrides.resolution.merging import canonical
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


@dataclass(frozen=True, slots=True, eq=False)
class TypeRules:
    """The rules that resolve the rows of one type.

    resource_type: None if the type does not exist. defaults: all platform default layers; resolving
    selects those that cover the target.
    """

    resource_type: ResourceType | None
    rails: Sequence[GuardRail] = ()
    defaults: Sequence[Layer] = ()

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
    _resolved: dict[Any, dict[str, Any]] = field(default_factory=dict)

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
            AffectedScope(target, change.resource_type, change.before, change.after, change.errors)
            for target, change in changes
            if change is not None
        ]

    def _at(self, target: Scope) -> AffectedScope | None:
        ladder = target.ladder()
        old, new = _rows(ladder, self.before), _rows(ladder, self.after)
        earlier = self.earlier_rules or self.rules
        if old == new and earlier is self.rules:
            return None
        key = (old, new, earlier.key_at(target), self.rules.key_at(target))
        if key not in self._comparisons:
            before = self._values(target, old, earlier, key[2])
            self._comparisons[key] = self._compare(
                target, before, self._values(target, new, self.rules, key[3])
            )
        return self._comparisons[key]

    def _compare(
        self, target: Scope, before: Mapping[str, Any], after: Mapping[str, Any]
    ) -> AffectedScope | None:
        earlier = (self.earlier_rules or self.rules).resource_type
        is_unchanged = canonical(before) == canonical(after)
        if is_unchanged and earlier is self.rules.resource_type:
            return None
        errors = _new_errors(earlier, self.rules.resource_type, before, after)
        if is_unchanged and not errors:
            return None
        return AffectedScope(target, self.resource_type, before, after, errors)

    def _values(self, target: Scope, rows: LadderRows, rules: TypeRules, rules_key: Any) -> dict[str, Any]:
        """Resolve the rows: the last one merged over the result of those above it."""
        if rules.resource_type is None:
            return {}
        key = (id(rules), rows, rules_key)
        if key not in self._resolved:
            inherited = self._values(target, rows[:-1], rules, rules_key) if rows else {}
            layers = [_layer(target, *rows[-1])] if rows else rules.defaults
            self._resolved[key] = values_only(
                target, layers, rules.resource_type.rule, rules.rails, inherited
            )
        return self._resolved[key]


def _new_errors(
    earlier: ResourceType | None,
    resource_type: ResourceType | None,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
) -> tuple[FieldError, ...]:
    """Return the validation errors after the change that did not exist before."""
    # Empty values are always valid: the type does not apply here.
    if resource_type is None or not after:
        return ()
    earlier_errors = earlier.resolved_errors(before) if earlier and before else []
    existing = {(error.pointer, error.code) for error in earlier_errors}
    errors = resource_type.resolved_errors(after)
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
