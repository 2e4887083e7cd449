"""What a change of overrides does to the scopes that inherit. Pure.

A change can make values differ, and documents invalid, at scopes that nobody named. Which scopes there are
to look at: every scope with a row of the type, every registered project in every domain, where a row of the
domain and one of the project meet, and every workflow with a guard rail of its own. Nothing else can resolve
to anything new.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from controlplane.errors import FieldError
from controlplane.scopes import Scope
from overrides.merging import canonical
from overrides.rails import GuardRail
from overrides.resolution import Layer, values_only
from overrides.resource_types import ResourceType

Texts = Mapping[Scope, str]


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

    Most scopes resolve the same few documents, so each combination is resolved once. defaults: the
    platform's layers, whatever the target; resolving picks those that cover it.
    """

    resource_type: ResourceType
    before: Texts
    after: Texts
    rails: Sequence[GuardRail] = ()
    defaults: Sequence[Layer] = ()
    _known: dict[Any, Affected | None] = field(default_factory=dict)

    def affected(self, targets: Iterable[Scope]) -> list[Affected]:
        """The targets where something changes, each with its values before and after."""
        found = []
        for target in targets:
            if (one := self._at(target)) is not None:
                found.append(Affected(target, one.resource_type, one.before, one.after, one.errors))
        return found

    def _at(self, target: Scope) -> Affected | None:
        ladder = list(target.ladder())
        old = tuple((rung.level, self.before[rung]) for rung in ladder if rung in self.before)
        new = tuple((rung.level, self.after[rung]) for rung in ladder if rung in self.after)
        governing = tuple(rail.name for rail in self.rails if rail.scope.covers(target))
        key = (old, new, governing, target.domain if self.defaults else "")
        if key not in self._known:
            self._known[key] = self._compare(target, ladder)
        return self._known[key]

    def _compare(self, target: Scope, ladder: Sequence[Scope]) -> Affected | None:
        before = self._values(target, ladder, self.before)
        after = self._values(target, ladder, self.after)
        if canonical(before) == canonical(after):
            return None
        stood = {(one.pointer, one.code) for one in self.resource_type.resolved_errors(before)}
        # Nothing at all is never wrong: then the type does not apply here.
        errors = self.resource_type.resolved_errors(after) if after else []
        new = tuple(one for one in errors if not before or (one.pointer, one.code) not in stood)
        return Affected(target, self.resource_type, before, after, new)

    def _values(self, target: Scope, ladder: Sequence[Scope], rows: Texts) -> Mapping[str, Any]:
        layers = [Layer(rung, json.loads(rows[rung])) for rung in ladder if rung in rows]
        return values_only(target, [*self.defaults, *layers], self.resource_type.rule, self.rails)


def targets_of(changed: Set[Scope], rows: Iterable[Scope], pairs: Iterable[Scope]) -> set[Scope]:
    """The scopes at which the change can be felt.

    rows: where anything is set or guarded. pairs: every registered project in every domain.
    """
    stored = {*rows, *pairs} - changed
    if Scope() in changed:
        return {*stored, *changed}
    return {*changed, *(scope for scope in stored if any(above in changed for above in scope.ladder()))}
