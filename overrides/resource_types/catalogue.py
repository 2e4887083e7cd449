"""The resource types and guard rails that hold together at some moment. Pure."""

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
    """Every type by name (the built-in ones first), and every rail."""

    types: Mapping[str, ResourceType]
    rails: tuple[GuardRail, ...] = ()

    def get(self, name: str) -> ResourceType:
        """Return the type with this name. Raises UnknownResourceType with the nearest one."""
        if found := self.types.get(name):
            return found
        nearest = difflib.get_close_matches(name.lower(), self.types, n=1, cutoff=0.5)
        advice = f"Did you mean {nearest[0]!r}?" if nearest else f"Known: {', '.join(self.types)}."
        raise UnknownResourceType(f"There is no resource type {name[:80]!r}. {advice}")

    def rule_of(self, name: str) -> MergeRule:
        """The merge rule of a type, or the plain one for a type that is gone."""
        return self.types[name].rule if name in self.types else MergeRule(Strategy.MERGE)

    def by_document_key(self) -> dict[str, ResourceType]:
        return {one.document_key: one for one in self.types.values()}

    def rails_of(self, name: str) -> list[GuardRail]:
        return [rail for rail in self.rails if rail.resource_type == name]


@dataclass(frozen=True, slots=True)
class RuleChange:
    """The catalogue before and after a change; the same object twice where no type or rail changes."""

    before: Catalogue
    after: Catalogue

    def scopes_by_type(self) -> dict[str, set[Scope]]:
        """Each type with changed rules, and the scopes at and below which they change."""
        if self.before is self.after:
            return {}
        changed: dict[str, set[Scope]] = defaultdict(set)
        for name in {*self.before.types, *self.after.types}:
            if self._version(self.before, name) != self._version(self.after, name):
                changed[name].add(Scope())
        for rail in (*self.changed_rails(), *_differing(self.before.rails, self.after.rails)):
            changed[rail.resource_type].add(rail.scope)
        # A rail may outlive its type; then it limits nothing.
        known = {*self.before.types, *self.after.types}
        return {name: scopes for name, scopes in changed.items() if name in known}

    def changed_rails(self) -> list[GuardRail]:
        """Rails that are new or differ, as they are after the change."""
        return [] if self.before is self.after else _differing(self.after.rails, self.before.rails)

    def earlier_rail(self, name: str) -> GuardRail | None:
        return next((rail for rail in self.before.rails if rail.name == name), None)

    @staticmethod
    def _version(catalogue: Catalogue, name: str) -> int | None:
        resource_type = catalogue.types.get(name)
        return None if resource_type is None else resource_type.version


def _differing(rails: Iterable[GuardRail], others: Iterable[GuardRail]) -> list[GuardRail]:
    """The rails that are not, with the same limits, among the others."""
    limits = {rail.name: _limits(rail) for rail in others}
    return [rail for rail in rails if limits.get(rail.name) != _limits(rail)]


def _limits(rail: GuardRail) -> GuardRail:
    """The rail without what changes no value."""
    return replace(rail, reason="", origin=None)
