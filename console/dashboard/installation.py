"""The part of the dashboard that names failing checks of the installation, loaded after the page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.pages import page
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.observability.alerting.checks import Check, checks_of
from controlplane.observability.metrics import scraped_figures

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class FailingCheck:
    """A check that fails, once for all that it is about. about: what it is about; empty: everything."""

    name: str
    meaning: str
    about: tuple[str, ...]


def failing_checks(checks: Iterable[Check]) -> list[FailingCheck]:
    """Return the checks that fail, each once: after an outage, one check fails for many environments."""
    by_name: dict[str, list[Check]] = {}
    for check in checks:
        if not check.is_good:
            by_name.setdefault(check.name, []).append(check)
    return [
        FailingCheck(name, failing[0].meaning, tuple(check.about for check in failing if check.about))
        for name, failing in by_name.items()
    ]


@page
def installation(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require(Action.METRICS_READ)
    failing = failing_checks(checks_of(scraped_figures(reader=caller.reader)))
    context = {
        "count": len(failing),
        "named": [
            (check, check.about[:_MOST_NAMED], len(check.about[_MOST_NAMED:]))
            for check in failing[:_MOST_NAMED]
        ],
        "others": len(failing[_MOST_NAMED:]),
    }
    return render(request, "console/dashboard/installation.html", context)
