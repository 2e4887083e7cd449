"""Rows that lie at a scope: their four columns, the check of the six shapes, and "covers" in SQL."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self, TypeVar

from django.db import models
from django.db.models import Q

from controlplane.scopes import MAX_SEGMENT_LENGTH, SEGMENTS, SHAPES, Level, Scope

Row_co = TypeVar("Row_co", bound=models.Model, covariant=True)


def segment_field(**options: Any) -> models.CharField[str, str]:
    """A column for one segment. Empty string means "any"; NULL never occurs."""
    return models.CharField(max_length=MAX_SEGMENT_LENGTH, blank=True, default="", **options)


def legal_shape() -> Q:
    """The six shapes as a database check."""
    legal = Q()
    for filled in SHAPES:
        legal |= _shape(filled)
    return legal


def _shape(filled: frozenset[str]) -> Q:
    shape = Q()
    for name in SEGMENTS:
        shape &= ~Q(**{name: ""}) if name in filled else Q(**{name: ""})
    return shape


def as_row(scope: Scope) -> dict[str, str]:
    """The scope as a row of `bulk_rows.recordset`, with short names: they are repeated for every row."""
    return {"p": scope.project, "d": scope.domain, "w": scope.workflow, "l": scope.launch_plan}


def within(scopes: Iterable[Scope]) -> Q:
    """Rows at scopes that one of `scopes` covers."""
    allowed = Q(pk__in=[])
    for scope in scopes:
        named = {name: value for name, value in scope.segments.items() if value}
        if not named:
            return Q()
        allowed |= Q(**named)
    return allowed


def overlapping(scopes: Iterable[Scope]) -> Q:
    """Rows at scopes that have some place in common with one of `scopes`: `Scope.joined` in SQL."""
    allowed = Q(pk__in=[])
    for scope in scopes:
        shared = Q()
        for name, value in scope.segments.items():
            shared &= Q(**{f"{name}__in": ("", value)}) if value else Q()
        if not shared:
            return Q()
        allowed |= shared
    return allowed


class ScopedQuerySet(models.QuerySet[Row_co]):
    """Queries by scope, for any model with the four segment columns."""

    def at(self, scope: Scope) -> Self:
        return self.filter(**scope.segments)

    def at_level(self, level: Level) -> Self:
        return self.filter(next(_shape(filled) for filled, named in SHAPES.items() if named is level))

    def covering(self, target: Scope) -> Self:
        """Rows that `target` inherits, its own included: `Scope.covers` in SQL.

        By exact key, at most six of them, so that a unique index answers it.
        """
        keys = Q()
        for scope in target.ladder():
            keys |= Q(**scope.segments)
        return self.filter(keys)

    def within(self, scopes: Iterable[Scope]) -> Self:
        """Rows at scopes that one of `scopes` covers: what a principal with these grants may see."""
        return self.filter(within(scopes))
