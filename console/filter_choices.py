"""What the selects of filters offer."""

from __future__ import annotations

from collections.abc import Iterable

from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from overrides.models import Domain, Project

_MOST = 1000


def offered(known: Iterable[str], chosen: str) -> list[str]:
    """What was asked stays chosen, known or not: the form must not change the question."""
    found = list(known)
    return [*found, chosen] if chosen and chosen not in found else found


def projects(caller: Caller) -> list[str]:
    """The projects that the API would list to this caller."""
    rows = Project.objects.readable_in(caller.scopes_for(Action.PROJECT_READ)).order_by("id")
    return list(rows.values_list("id", flat=True)[:_MOST])


def domains() -> list[str]:
    return list(Domain.objects.order_by("id").values_list("id", flat=True))
