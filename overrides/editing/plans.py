"""A plan: what a change does, by document and by value. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controlplane.errors import FieldError
from controlplane.scopes import Scope
from overrides.approvals.decisions import Policy
from overrides.editing.confirmation import Confirmation
from overrides.editing.impact import AffectedScope
from overrides.freezes.decisions import Freeze
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
    """One leaf that differs. before, after: ABSENT where it does not exist. Leaf names never change."""

    leaf: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """The change of one override. version: the new version, or the current one if unchanged."""

    address: Address
    kind: ChangeKind
    before: Attributes | None
    after: Attributes | None
    rule: MergeRule
    version: int
    declared_in: str = ""

    @property
    def differences(self) -> tuple[Difference, ...]:
        """The differences by leaf, computed on demand: of ten thousand changes most are only counted."""
        return () if self.kind is ChangeKind.UNCHANGED else differences(self.before, self.after, self.rule)


@dataclass(frozen=True, slots=True)
class EffectiveChange:
    """The change of the effective values of one type at one scope."""

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
class PlanWarning:
    """A value that will refer to nothing in another resource type. error: pointer in the attributes."""

    scope: Scope
    resource_type: str
    error: FieldError


@dataclass(frozen=True, slots=True)
class Plan:
    """The effects of a change. revision: the new revision, or 0 if nothing changes.

    affected: the number of scopes whose effective values change. effective: the first of those changes.
    digest: identifies exactly this change; empty if nothing changes. confirmation: the confirmation that the
    change requires, if any. kept_out: stored values that changed guard rails keep from applying.
    warnings: values that refer to nothing, at scopes that change. frozen_by: freezes of changed scopes.
    protected_by: policies of changed scopes that need more approvals. scopes: all whose effective values
    change, if a plan was wanted.
    """

    revision: int
    changes: tuple[PlannedChange, ...]
    affected: int
    effective: tuple[EffectiveChange, ...]
    digest: str = ""
    confirmation: Confirmation | None = None
    kept_out: tuple[KeptOut, ...] = ()
    warnings: tuple[PlanWarning, ...] = ()
    frozen_by: tuple[Freeze, ...] = ()
    protected_by: tuple[Policy, ...] = ()
    scopes: frozenset[Scope] = frozenset()

    def count(self, kind: ChangeKind) -> int:
        return sum(change.kind is kind for change in self.changes)


def differences(
    before: Attributes | None, after: Attributes | None, rule: MergeRule
) -> tuple[Difference, ...]:
    """Return the leaves in which two documents of one type differ, by name."""
    old = {} if before is None else {name_of(path): value for path, value in leaves(before, rule)}
    new = {} if after is None else {name_of(path): value for path, value in leaves(after, rule)}
    return tuple(
        Difference(leaf, old.get(leaf, ABSENT), new.get(leaf, ABSENT))
        for leaf in sorted({*old, *new})
        if _text(old, leaf) != _text(new, leaf)
    )


def effective_changes(affected: Iterable[AffectedScope]) -> tuple[EffectiveChange, ...]:
    return tuple(
        EffectiveChange(
            scope.scope,
            scope.resource_type.name,
            differences(scope.before or None, scope.after or None, scope.resource_type.rule),
        )
        for scope in affected
    )


def kind_of(before: Attributes | None, after: Attributes | None, *, changes: bool) -> ChangeKind:
    if not changes:
        return ChangeKind.UNCHANGED
    if before is None:
        return ChangeKind.CREATED
    return ChangeKind.DELETED if after is None else ChangeKind.UPDATED


def _text(leaves_by_name: Mapping[str, Any], leaf: str) -> str:
    return canonical(leaves_by_name[leaf]) if leaf in leaves_by_name else ""
