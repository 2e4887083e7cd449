"""Label selectors as conditions of the database, for models with a JSON column `labels`."""

from __future__ import annotations

from django.db.models import Q

from controlplane.formats.label_selectors import Operator, Requirement, parse


def selected_by(selector: str) -> Q:
    """Return the condition of rows whose labels meet the selector. Raises InvalidRequest."""
    condition = Q()
    for requirement in parse(selector):
        condition &= label_condition(requirement)
    return condition


def label_condition(requirement: Requirement) -> Q:
    """Return `Requirement.is_met_by` as a condition of the database; a test compares the two."""
    has_name = Q(labels__has_key=requirement.name)
    if requirement.operator is Operator.EXISTS:
        return has_name
    if requirement.operator is Operator.ABSENT:
        return ~has_name
    has_value = Q(pk__in=[])
    for value in requirement.values:
        has_value |= Q(labels__contains={requirement.name: value})
    return has_value if requirement.operator is Operator.IN else ~has_value
