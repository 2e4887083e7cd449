"""Conditions for the rows after a key, in the order of several columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db.models import Model, Q


def after(order: Sequence[str], key: Sequence[Any]) -> Q:
    """Return `(a, b) > (x, y)` as a condition; the leading `a >= x` lets an index find the start."""
    fields = [name.removeprefix("-") for name in order]
    comparisons = [f"{name.removeprefix('-')}__{'lt' if name.startswith('-') else 'gt'}" for name in order]
    later = Q()
    for depth, comparison in enumerate(comparisons):
        equal = dict(zip(fields[:depth], key, strict=False))
        later |= Q(**equal, **{comparison: key[depth]})
    return Q(**{f"{comparisons[0]}e": key[0]}) & later


def reverse(order: Sequence[str]) -> tuple[str, ...]:
    """Return the opposite order."""
    return tuple(name[1:] if name.startswith("-") else f"-{name}" for name in order)


@cache
def check_order(model: type[Model], order: tuple[str, ...]) -> None:
    """Raise ValueError for a column that may be NULL: no row is after NULL, so pages would lose rows."""
    for name in order:
        try:
            field = model._meta.get_field(name.removeprefix("-"))
        except FieldDoesNotExist:
            continue  # an annotation
        if getattr(field, "null", False):
            raise ValueError(f"{model.__name__}.{field.name} may be NULL: no list can be sorted by it.")
