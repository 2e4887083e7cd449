"""What a change of overrides does to the scopes that inherit. Pure.

A change can make values differ, and documents invalid, at scopes that nobody named. Which scopes there are
to look at: every scope with a row of the type, every registered project in every domain, where a row of the
domain and one of the project meet, and every workflow with a guard rail of its own. Nothing else can resolve
to anything new.
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

Texts = Mapping[Scope, str]
# What is set on the way to a scope, least specific first.
Rows = tuple[tuple[Level, str], ...]


@dataclass(frozen=True, slots=True)
class Affected:
    """A scope whose effective attributes of one type change. errors: what is newly wrong with them."""

    scope: Scope
    resource_type: ResourceType
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    errors: tuple[FieldError, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """What the rows of one type are resolved by.

    resource_type: None where the type does not exist. defaults: the platform's layers, whatever the
    target; resolving picks those that cover it.
    """

    resource_type: ResourceType | None
    rails: Sequence[GuardRail] = ()
    defaults: Sequence[Layer] = ()

    def key_at(self, target: Scope) -> tuple[Any, ...]:
        """Equal for targets at which these rules treat the same rows alike."""
        governing = tuple(rail.name for rail in self.rails if rail.scope.covers(target))
        return governing, target.domain if self.defaults else ""


@dataclass(slots=True)
class Comparison:
    """One type before and after a change: rows as canonical JSON by scope, and the rules for them.

    earlier_rules: None if the rules stay the same. Most scopes resolve the same few documents, so each
    combination is resolved once, and what many inherit is merged once.
    """

    before: Texts
    after: Texts
    rules: Rules
    earlier_rules: Rules | None = None
    _known: dict[Any, Affected | None] = field(default_factory=dict)
    _resolved: dict[Any, dict[str, Any]] = field(default_factory=dict)

    @property
    def resource_type(self) -> ResourceType:
        """The type after the change; where it is deleted, the type before."""
        resource_type = self.rules.resource_type or (self.earlier_rules or self.rules).resource_type
        assert resource_type is not None
        return resource_type

    def affected(self, targets: Iterable[Scope]) -> list[Affected]:
        """The targets where something changes, each with its values before and after."""
        changes = ((target, self._at(target)) for target in targets)
        return [
            Affected(target, change.resource_type, change.before, change.after, change.errors)
            for target, change in changes
            if change is not None
        ]

    def _at(self, target: Scope) -> Affected | None:
        ladder = target.ladder()
        old, new = _rows(ladder, self.before), _rows(ladder, self.after)
        earlier = self.earlier_rules or self.rules
        if old == new and earlier is self.rules:
            return None
        key = (old, new, earlier.key_at(target), self.rules.key_at(target))
        if key not in self._known:
            before = self._values(target, old, earlier, key[2])
            self._known[key] = self._compare(target, before, self._values(target, new, self.rules, key[3]))
        return self._known[key]

    def _compare(self, target: Scope, before: Mapping[str, Any], after: Mapping[str, Any]) -> Affected | None:
        earlier = (self.earlier_rules or self.rules).resource_type
        same = canonical(before) == canonical(after)
        if same and earlier is self.rules.resource_type:
            return None
        errors = _new_errors(earlier, self.rules.resource_type, before, after)
        return None if same and not errors else Affected(target, self.resource_type, before, after, errors)

    def _values(self, target: Scope, rows: Rows, rules: Rules, where: Any) -> dict[str, Any]:
        """What the rows come to: the last one, laid over what those above it come to."""
        if rules.resource_type is None:
            return {}
        key = (id(rules), rows, where)
        if key not in self._resolved:
            inherited = self._values(target, rows[:-1], rules, where) if rows else {}
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
    """What is wrong with the values after the change, and was not before."""
    # Nothing at all is never wrong: then the type does not apply here.
    if resource_type is None or not after:
        return ()
    known = {(error.pointer, error.code) for error in earlier.resolved_errors(before)} if earlier else set()
    errors = resource_type.resolved_errors(after)
    return tuple(error for error in errors if not before or (error.pointer, error.code) not in known)


def _layer(target: Scope, level: Level, text: str) -> Layer:
    return Layer(target.at(level), msgspec.json.decode(text))


def _rows(ladder: Iterable[Scope], texts: Texts) -> Rows:
    return tuple((rung.level, text) for rung in ladder if (text := texts.get(rung)) is not None)


def targets_of(changed: Set[Scope], rows: Iterable[Scope], pairs: Iterable[Scope]) -> set[Scope]:
    """The scopes at which the change can be felt.

    rows: where anything is set or guarded. pairs: every registered project in every domain.
    """
    if Scope() in changed:
        return {*rows, *pairs, *changed}
    broadest = min((scope.level for scope in changed), default=Level.GLOBAL)
    below = {scope for scope in {*rows, *pairs} if scope.level > broadest}
    return {*changed, *(scope for scope in below if any(above in changed for above in scope.ladder()))}
