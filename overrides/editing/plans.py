"""A plan: what a change would do, document by document and value by value. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controlplane.scopes import Scope
from overrides.editing.confirmation import Confirmation
from overrides.editing.impact import Affected
from overrides.resolution.addresses import Address
from overrides.resolution.leaves import ABSENT, leaves, name_of
from overrides.resolution.merging import Attributes, MergeRule, canonical


class ChangeKind(StrEnum):
    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Difference:
    """One leaf that differs. before, after: ABSENT where there is none. The name is stable over versions."""

    leaf: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """What happens to one override. version: the one that it gets, or has."""

    address: Address
    kind: ChangeKind
    before: Attributes | None
    after: Attributes | None
    rule: MergeRule
    version: int
    declared_in: str = ""

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Leaf by leaf. Made when asked for: of ten thousand changes most are only counted."""
        return () if self.kind is ChangeKind.UNCHANGED else differences(self.before, self.after, self.rule)


@dataclass(frozen=True, slots=True)
class EffectiveChange:
    """What happens to the effective values of one type at one scope."""

    scope: Scope
    resource_type: str
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class KeptOut:
    """A stored value that a new or changed guard rail keeps from applying. leaf: as in Difference."""

    scope: Scope
    resource_type: str
    leaf: str
    value: Any
    rail: str
    because: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What a change does. revision: the one it makes, or 0 if it changes nothing.

    affected: at how many scopes effective values change. effective: the first of those changes.
    digest: identifies exactly this change, empty if it changes nothing. confirmation: what the change
    must be confirmed with, if it must. kept_out: the values that changed guard rails keep from applying.
    """

    revision: int
    changes: tuple[PlannedChange, ...]
    affected: int
    effective: tuple[EffectiveChange, ...]
    digest: str = ""
    confirmation: Confirmation | None = None
    kept_out: tuple[KeptOut, ...] = ()

    def count(self, kind: ChangeKind) -> int:
        return sum(one.kind is kind for one in self.changes)


def differences(
    before: Attributes | None, after: Attributes | None, rule: MergeRule
) -> tuple[Difference, ...]:
    """The leaves in which two documents of one type differ, by name."""
    old = {} if before is None else {name_of(path): value for path, value in leaves(before, rule)}
    new = {} if after is None else {name_of(path): value for path, value in leaves(after, rule)}
    return tuple(
        Difference(leaf, old.get(leaf, ABSENT), new.get(leaf, ABSENT))
        for leaf in sorted({*old, *new})
        if _text(old, leaf) != _text(new, leaf)
    )


def effective_changes(affected: Iterable[Affected]) -> tuple[EffectiveChange, ...]:
    return tuple(
        EffectiveChange(
            one.scope,
            one.resource_type.name,
            differences(one.before or None, one.after or None, one.resource_type.rule),
        )
        for one in affected
    )


def kind_of(before: Attributes | None, after: Attributes | None, *, changes: bool) -> ChangeKind:
    if not changes:
        return ChangeKind.UNCHANGED
    if before is None:
        return ChangeKind.CREATED
    return ChangeKind.DELETED if after is None else ChangeKind.UPDATED


def _text(leaves_by_name: Mapping[str, Any], leaf: str) -> str:
    return canonical(leaves_by_name[leaf]) if leaf in leaves_by_name else ""
