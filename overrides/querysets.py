"""Querysets of overrides, types, guard rails and projects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Self, TypeVar

from django.db import models
from django.db.models.functions import Cast

from controlplane.api.sort_keys import SortKeys
from controlplane.database.scoped import ScopedQuerySet
from controlplane.scopes import Scope

if TYPE_CHECKING:
    from overrides.models import Project

Row_co = TypeVar("Row_co", bound=models.Model, covariant=True)


_BY_SCOPE = ("project", "domain", "workflow", "launch_plan", "resource_type")
SORT_KEYS = SortKeys(
    {
        "id": ("id",),
        "scope": _BY_SCOPE,
        "resource_type": ("resource_type",),
        "changed_at": ("changed_at",),
        "changed_by": ("changed_by",),
    },
    tie_break=("id",),
    unique=(_BY_SCOPE,),
)


class OverrideQuerySet(ScopedQuerySet[Row_co]):
    def of(self, resource_type: str, scope: Scope) -> Self:
        """Rows at one address: a type at a scope."""
        return self.at(scope).filter(resource_type=resource_type)

    def managed_by(self, manager: str) -> Self:
        """Rows with a value that the manager manages."""
        return self.filter(_Manages(models.F("owners"), models.Value(manager)))

    def mentioning(self, text: str) -> Self:
        """Rows that contain the text in their scope, type, message or values, ignoring case."""
        searched = self.alias(_values=Cast("attributes", models.TextField()))
        columns = (*_BY_SCOPE, "change_message", "_values")
        condition = models.Q()
        for column in columns:
            condition |= models.Q(**{f"{column}__icontains": text})
        return searched.filter(condition)


class _Manages(models.Func):
    """True if one of the leaves in `owners` has the manager."""

    arg_joiner = ", '$.* ? (@[*] == $manager)'::jsonpath, jsonb_build_object('manager', "
    template = "jsonb_path_exists(%(expressions)s::text))"
    output_field = models.BooleanField()


class Differs(models.Func):
    """True if two values differ; NULL counts as a value."""

    arg_joiner = " IS DISTINCT FROM "
    template = "(%(expressions)s)"
    output_field = models.BooleanField()


class SpanQuerySet(models.QuerySet[Row_co]):
    """Rows that are in effect from `since_revision` up to, not including, `until_revision`."""

    def present(self) -> Self:
        return self.filter(until_revision__isnull=True)

    def deleted(self) -> Self:
        """The last row of each name that no present row has."""
        same_name = self.model._default_manager.filter(name=models.OuterRef("name"))
        latest = same_name.order_by("-version").values("pk")[:1]
        return self.filter(until_revision__isnull=False, pk=models.Subquery(latest))

    def as_of(self, revision: int | None) -> Self:
        """Rows in effect at the revision; None means now."""
        if revision is None:
            return self.present()
        ended = models.Q(until_revision__isnull=True) | models.Q(until_revision__gt=revision)
        return self.filter(ended, since_revision__lte=revision)


PROJECT_SORT_KEYS = SortKeys(
    {
        "id": ("id",),
        "name": ("name",),
        "state": ("state",),
        "created_at": ("created_at",),
        "updated_at": ("updated_at",),
    },
    tie_break=("id",),
)


class ProjectQuerySet(models.QuerySet["Project"]):
    def readable_in(self, scopes: Iterable[Scope]) -> ProjectQuerySet:
        """Projects that a caller with roles at these scopes may see; a role at a domain covers all."""
        named = [scope.project for scope in scopes]
        return self if "" in named else self.filter(id__in=named)

    def mentioning(self, text: str) -> ProjectQuerySet:
        """Projects with the text in their id, name or description, ignoring case."""
        named = models.Q(id__icontains=text) | models.Q(name__icontains=text)
        return self.filter(named | models.Q(description__icontains=text))
