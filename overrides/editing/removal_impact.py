"""Measure what changes if an override no longer sets a value. A question: it writes and locks nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from controlplane.errors import FieldError
from controlplane.scopes import Scope
from overrides.editing.blast_radius import measure
from overrides.editing.commit import MAX_REPORTED
from overrides.editing.draft import Draft
from overrides.editing.plans import EffectiveChange, differences, effective_changes
from overrides.effective.effective import effective_attributes
from overrides.loading.catalogue_cache import current_catalogue
from overrides.loading.current import load_current
from overrides.resolution.addresses import Address
from overrides.resolution.leaves import ABSENT, Path, without
from overrides.resolution.resolve import Layer, values_only
from overrides.resource_types.catalogue import Catalogue, RuleChange


@dataclass(frozen=True, slots=True)
class RemovalImpact:
    """The effects of removing a value from one override.

    affected: the number of scopes whose effective values change, as in a plan: those that set something, and
    every project in every domain. effective: the first of those changes. here: the change at the scope that
    the caller looks at, which may set nothing. errors: of scopes whose values would then be invalid. is_last:
    the override sets nothing else.
    """

    address: Address
    affected: int
    effective: tuple[EffectiveChange, ...]
    here: EffectiveChange
    errors: tuple[FieldError, ...]
    is_last: bool


def removal_impact(address: Address, path: Path, here: Scope) -> RemovalImpact:
    """Return what changes without the value at the path; nothing if the override does not set it.

    Raises UnknownResourceType, UnknownProject, UnknownDomain.
    """
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
        _change_at(here, draft, catalogue),
        tuple(errors)[:MAX_REPORTED],
        bool(changing) and draft.after is None,
    )


def _change_at(scope: Scope, draft: Draft, catalogue: Catalogue) -> EffectiveChange:
    name = draft.address.resource_type
    rule, rails = catalogue.rule_of(name), catalogue.rails_of(name)
    types = effective_attributes(scope, resource_type=name).types
    layers = [layer for effective_type in types for layer in effective_type.layers]
    remaining = [each for layer in layers if (each := _without_value(layer, draft)) is not None]
    before, after = (values_only(scope, each, rule, rails) or None for each in (layers, remaining))
    return EffectiveChange(scope, name, differences(before, after, rule))


def _without_value(layer: Layer, draft: Draft) -> Layer | None:
    """Return the layer after the change, None if it is deleted."""
    if layer.is_default or layer.scope != draft.address.scope:
        return layer
    return None if draft.after is None else replace(layer, attributes=draft.after)
