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


class ProjectQuerySet(models.QuerySet["Project"]):
    def readable_in(self, scopes: Iterable[Scope]) -> ProjectQuerySet:
        """What a caller with roles at these scopes may see; a role at a domain is in every project."""
        named = [scope.project for scope in scopes]
        return self if "" in named else self.filter(id__in=named)
