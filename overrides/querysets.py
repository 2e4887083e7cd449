"""Queries over overrides."""

from __future__ import annotations

from typing import Self, TypeVar

from django.db import models

from controlplane.scoped_rows import ScopedQuerySet
from controlplane.scopes import Scope

Row_co = TypeVar("Row_co", bound=models.Model, covariant=True)


class OverrideQuerySet(ScopedQuerySet[Row_co]):
    def of(self, resource_type: str, scope: Scope) -> Self:
        """The one address of a type at a scope."""
        return self.at(scope).filter(resource_type=resource_type)
