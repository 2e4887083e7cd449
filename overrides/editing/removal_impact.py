"""Measure what changes if an override no longer sets a value. A question: it writes and locks nothing."""

from __future__ import annotations

from dataclasses import dataclass

from controlplane.errors import FieldError
from overrides.editing.blast_radius import measure
from overrides.editing.commit import MAX_REPORTED
from overrides.editing.draft import Draft
from overrides.editing.plans import EffectiveChange, effective_changes
from overrides.loading.catalogue_cache import current_catalogue
from overrides.loading.current import load_current
from overrides.resolution.addresses import Address
from overrides.resolution.leaves import ABSENT, Path, without
from overrides.resource_types.catalogue import RuleChange


@dataclass(frozen=True, slots=True)
class RemovalImpact:
    """The effects of removing a value from one override.

    affected: the number of scopes whose effective values change; effective: the first of those changes.
    errors: of scopes whose values would then be invalid. is_last: the override sets nothing else.
    """

    address: Address
    affected: int
    effective: tuple[EffectiveChange, ...]
    errors: tuple[FieldError, ...]
    is_last: bool


def removal_impact(address: Address, path: Path) -> RemovalImpact:
    """Return what changes without the value at the path; nothing if the override does not set it."""
    catalogue = current_catalogue()
    catalogue.get(address.resource_type)
    current = load_current([address])[address]
    remaining = ABSENT if current.attributes is None else without(current.attributes, path)
    draft = Draft(current, None if remaining is ABSENT else remaining, current.owners)
    changing = [draft] if draft.changes else []
    radius = measure(changing, RuleChange(catalogue, catalogue), exact=True)
    errors = dict.fromkeys(error for scope in radius.affected for error in scope.errors)
    return RemovalImpact(
        address,
        radius.count,
        effective_changes(radius.affected[:MAX_REPORTED]),
        tuple(errors)[:MAX_REPORTED],
        bool(changing) and draft.after is None,
    )
