"""Options of filter selects."""

from __future__ import annotations

from collections.abc import Iterable

from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from overrides.models import Domain, Project

_MAX_OPTIONS = 1000


def select_options(options: Iterable[str], selected: str) -> list[str]:
    """Return the options, with the selected one even if unknown: the form must not change the filter."""
    choices = list(options)
    return [*choices, selected] if selected and selected not in choices else choices


def projects(caller: Caller) -> list[str]:
    """Return the projects that the API lists for this caller."""
    rows = Project.objects.readable_in(caller.scopes_for(Action.PROJECT_READ)).order_by("id")
    return list(rows.values_list("id", flat=True)[:_MAX_OPTIONS])


def domains() -> list[str]:
    return list(Domain.objects.order_by("id").values_list("id", flat=True))
