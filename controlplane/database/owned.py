"""Rows that a team owns, or the platform (NULL)."""

from __future__ import annotations

from typing import ClassVar, Self, TypeVar

from django.db import models
from django.db.models import Q

from controlplane.identity.callers import Caller
from controlplane.identity.grants import Owners
from controlplane.identity.roles import Action

Row_co = TypeVar("Row_co", bound=models.Model, covariant=True)


def of_owners(owners: Owners, team: str) -> Q:
    """Match rows of these owners. team: the path to the column with the team's id."""
    return Q() if owners.everything else Q(**{f"{team}__in": owners.team_ids})


class OwnedQuerySet(models.QuerySet[Row_co]):
    """Queries by owner. Each model names the path to its team and the action that reads it."""

    team_path: ClassVar[str] = "team_id"
    read_action: ClassVar[Action]

    def within(self, caller: Caller, action: Action | None = None) -> Self:
        """Return the rows on which the caller may perform the action; None: that it may read."""
        return self.filter(of_owners(caller.owners_for(action or self.read_action), self.team_path))
