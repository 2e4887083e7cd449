"""The resource types and guard rails that hold together at some moment. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.errors import UnknownResourceType
from overrides.merging import MergeRule, Strategy
from overrides.rails import GuardRail
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
