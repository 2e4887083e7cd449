"""Rows with a scope: their four columns, the check of the six shapes, and "covers" in SQL."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self, TypeVar

from django.db import models
from django.db.models import Q

from controlplane.scopes import MAX_SEGMENT_LENGTH, SEGMENTS, SHAPES, Level, Scope

Row_co = TypeVar("Row_co", bound=models.Model, covariant=True)


def segment_field(**options: Any) -> models.CharField[str, str]:
    """Return a column for one segment. Empty string means "any"; NULL never occurs."""
    return models.CharField(max_length=MAX_SEGMENT_LENGTH, blank=True, default="", **options)


def legal_shape() -> Q:
    """Return the six shapes as a database check."""
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
    """Return the scope as a row of `bulk.recordset`, with short names, because every row repeats them."""
    return {"p": scope.project, "d": scope.domain, "w": scope.workflow, "l": scope.launch_plan}


def within(scopes: Iterable[Scope]) -> Q:
    """Match rows at scopes that one of `scopes` covers."""
    allowed = Q(pk__in=[])
    for scope in scopes:
        segments = {name: value for name, value in scope.segments.items() if value}
        if not segments:
            return Q()
        allowed |= Q(**segments)
    return allowed


def overlapping(scopes: Iterable[Scope]) -> Q:
    """Match rows at scopes that overlap one of `scopes`: `Scope.joined` in SQL."""
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
        return self.filter(
            next(_shape(filled) for filled, shape_level in SHAPES.items() if shape_level is level)
        )

    def covering(self, target: Scope) -> Self:
        """Return the rows that `target` inherits, including its own: `Scope.covers` in SQL.

        By at most six exact keys, so that a unique index can be used.
        """
        keys = Q()
        for scope in target.ladder():
            keys |= Q(**scope.segments)
        return self.filter(keys)

    def within(self, scopes: Iterable[Scope]) -> Self:
        """Return rows at scopes that one of `scopes` covers: what a principal with these grants may see."""
        return self.filter(within(scopes))
