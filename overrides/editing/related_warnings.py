"""Warnings of a plan: values that refer to another resource type, at the scopes that change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from controlplane.scopes import Scope
from overrides.editing.impact import AffectedScope
from overrides.editing.plans import PlanWarning
from overrides.effective.effective import values_many
from overrides.effective.results import EffectiveValues
from overrides.resource_types.catalogue import Catalogue
from overrides.resource_types.references import reference_warnings

# Scopes that are looked at, and warnings in a plan.
_MOST = 100


def related_warnings(affected: Sequence[AffectedScope], catalogue: Catalogue) -> tuple[PlanWarning, ...]:
    """Return the warnings at scopes where values of referring types change. The change is already written."""
    referring = [each for each in catalogue.types.values() if each.references]
    names = {each.name for each in referring}
    names |= {reference.resource_type for each in referring for reference in each.references}
    scopes = dict.fromkeys(each.scope for each in affected if each.resource_type.name in names)
    return tuple(_warnings(list(scopes)[:_MOST]))[:_MOST] if scopes else ()


def _warnings(scopes: Sequence[Scope]) -> Iterator[PlanWarning]:
    for effective in values_many(scopes):
        yield from _at(effective)


def _at(effective: EffectiveValues) -> Iterable[PlanWarning]:
    attributes = {each.resource_type.name: each.attributes for each in effective.types}
    warnings = reference_warnings([each.resource_type for each in effective.types], attributes)
    for name, errors in warnings.items():
        for error in errors:
            yield PlanWarning(effective.scope, name, error)
