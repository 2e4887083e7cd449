"""The catalogue: the resource types and guard rails in effect together. Pure."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from controlplane.errors import UnknownResourceType
from controlplane.scopes import Scope
from overrides.resolution.merging import MergeRule, Strategy
from overrides.resolution.rails import GuardRail
from overrides.resource_types import ResourceType


@dataclass(frozen=True)
class Catalogue:
    """Every type by name, built-in types first, and every guard rail."""

    types: Mapping[str, ResourceType]
    rails: tuple[GuardRail, ...] = ()

    def get(self, name: str) -> ResourceType:
        """Return the type with this name. Raises UnknownResourceType with the nearest name."""
        if resource_type := self.types.get(name):
            return resource_type
        nearest = difflib.get_close_matches(name.lower(), self.types, n=1, cutoff=0.5)
        advice = f"Did you mean {nearest[0]!r}?" if nearest else f"Use one of {', '.join(self.types)}."
        raise UnknownResourceType(f"Resource type {name[:80]!r} does not exist. {advice}")

    def rule_of(self, name: str) -> MergeRule:
        """Return the merge rule of a type, or plain merging for a type that no longer exists."""
        return self.types[name].rule if name in self.types else MergeRule(Strategy.MERGE)

    def version_of(self, name: str) -> int | None:
        """Return the version of a type; None if it does not exist."""
        return self.types[name].version if name in self.types else None

    def by_document_key(self) -> dict[str, ResourceType]:
        return {resource_type.document_key: resource_type for resource_type in self.types.values()}

    def rails_of(self, name: str) -> list[GuardRail]:
        return [rail for rail in self.rails if rail.resource_type == name]


@dataclass(frozen=True, slots=True)
class RuleChange:
    """The catalogue before and after a change; the same object twice if no type or rail changes."""

    before: Catalogue
    after: Catalogue

    def scopes_by_type(self) -> dict[str, set[Scope]]:
        """Return each type with changed rules, and the scopes at and below which they change."""
        if self.before is self.after:
            return {}
        changed: dict[str, set[Scope]] = defaultdict(set)
        for name in {*self.before.types, *self.after.types}:
            if self.before.version_of(name) != self.after.version_of(name):
                changed[name].add(Scope())
        for rail in (*self.changed_rails(), *_changed_rails_of(self.before.rails, self.after.rails)):
            changed[rail.resource_type].add(rail.scope)
        # A rail can outlive its type; then it has no effect.
        type_names = {*self.before.types, *self.after.types}
        return {name: scopes for name, scopes in changed.items() if name in type_names}

    def changed_rails(self) -> list[GuardRail]:
        """Return new and changed rails, in their state after the change."""
        return [] if self.before is self.after else _changed_rails_of(self.after.rails, self.before.rails)

    def earlier_rail(self, name: str) -> GuardRail | None:
        return next((rail for rail in self.before.rails if rail.name == name), None)


def _changed_rails_of(rails: Iterable[GuardRail], other_rails: Iterable[GuardRail]) -> list[GuardRail]:
    """Return the rails that are not among the other rails with the same limits."""
    limits = {rail.name: _limits(rail) for rail in other_rails}
    return [rail for rail in rails if limits.get(rail.name) != _limits(rail)]


def _limits(rail: GuardRail) -> GuardRail:
    """Return the rail without the fields that do not affect values."""
    return replace(rail, reason="", origin=None)
