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
from overrides.merging import canonical
from overrides.rails import GuardRail
from overrides.resolution import Layer, values_only
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


@dataclass(slots=True)
class Comparison:
    """One type before and after a change: rows as canonical JSON by scope.

    Most scopes resolve the same few documents, so each combination is resolved once, and what many
    inherit is merged once. defaults: the platform's layers, whatever the target; resolving picks those
    that cover it.
    """

    resource_type: ResourceType
    before: Texts
    after: Texts
    rails: Sequence[GuardRail] = ()
    defaults: Sequence[Layer] = ()
    _known: dict[Any, Affected | None] = field(default_factory=dict)
    _resolved: dict[Any, dict[str, Any]] = field(default_factory=dict)

    def affected(self, targets: Iterable[Scope]) -> list[Affected]:
        """The targets where something changes, each with its values before and after."""
        found = []
        for target in targets:
            if (one := self._at(target)) is not None:
                found.append(Affected(target, one.resource_type, one.before, one.after, one.errors))
        return found

    def _at(self, target: Scope) -> Affected | None:
        ladder = target.ladder()
        old, new = _rows(ladder, self.before), _rows(ladder, self.after)
        if old == new:
            return None
        governing = tuple(rail.name for rail in self.rails if rail.scope.covers(target))
        where = (governing, target.domain if self.defaults else "")
        key = (old, new, where)
        if key not in self._known:
            before, after = self._values(target, old, where), self._values(target, new, where)
            self._known[key] = self._compare(target, before, after)
        return self._known[key]

    def _compare(self, target: Scope, before: Mapping[str, Any], after: Mapping[str, Any]) -> Affected | None:
        if canonical(before) == canonical(after):
            return None
        stood = {(one.pointer, one.code) for one in self.resource_type.resolved_errors(before)}
        # Nothing at all is never wrong: then the type does not apply here.
        errors = self.resource_type.resolved_errors(after) if after else []
        new = tuple(one for one in errors if not before or (one.pointer, one.code) not in stood)
        return Affected(target, self.resource_type, before, after, new)

    def _values(self, target: Scope, rows: Rows, where: Any) -> dict[str, Any]:
        """What the rows come to: the last one, laid over what those above it come to."""
        key = (rows, where)
        if key not in self._resolved:
            inherited = self._values(target, rows[:-1], where) if rows else {}
            layers = [_layer(target, *rows[-1])] if rows else self.defaults
            self._resolved[key] = values_only(target, layers, self.resource_type.rule, self.rails, inherited)
        return self._resolved[key]


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
