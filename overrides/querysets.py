"""Queries over overrides."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Self, TypeVar

from django.db import models

from controlplane.scoped_rows import ScopedQuerySet
from controlplane.scopes import Scope

if TYPE_CHECKING:
    from overrides.models import Project

Row_co = TypeVar("Row_co", bound=models.Model, covariant=True)


class OverrideQuerySet(ScopedQuerySet[Row_co]):
    def of(self, resource_type: str, scope: Scope) -> Self:
        """The one address of a type at a scope."""
        return self.at(scope).filter(resource_type=resource_type)


class SpanQuerySet(models.QuerySet[Row_co]):
    """Rows that hold from `since_revision` up to, not including, `until_revision`."""

    def present(self) -> Self:
        return self.filter(until_revision__isnull=True)

    def as_of(self, revision: int | None) -> Self:
        """What held at the revision; None means now."""
        if revision is None:
            return self.present()
        ended = models.Q(until_revision__isnull=True) | models.Q(until_revision__gt=revision)
        return self.filter(ended, since_revision__lte=revision)


class ProjectQuerySet(models.QuerySet["Project"]):
    def readable_in(self, scopes: Iterable[Scope]) -> ProjectQuerySet:
        """What a caller with roles at these scopes may see; a role at a domain is in every project."""
        named = [scope.project for scope in scopes]
        return self if "" in named else self.filter(id__in=named)
