"""Overrides: what applies at a scope, and why."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console import choices
from console.overrides import ladder
from console.pages import page
from controlplane.access.callers import Caller
from controlplane.access.roles import Action
from controlplane.errors import ControlplaneError, PermissionDenied
from controlplane.scopes import SEGMENTS, Scope
from overrides.effective import effective_attributes


@page
def effective(request: HttpRequest, caller: Caller) -> HttpResponse:
    readable = caller.scopes_for(Action.OVERRIDE_READ)
    if not readable:
        caller.require(Action.OVERRIDE_READ)
    asked = {name: request.GET.get(name, "").strip() for name in SEGMENTS}
    answer, status = _effective(caller, asked)
    form = {
        "asked": asked,
        "projects": choices.offered(choices.projects(caller), asked["project"]),
        "domains": choices.offered(choices.domains(), asked["domain"]),
        "readable": readable,
    }
    return render(request, "console/overrides/ladder.html", {**form, **answer}, status=status)


def _effective(caller: Caller, asked: dict[str, str]) -> tuple[dict[str, Any], int]:
    """What the page shows below its form, and the status."""
    try:
        scope = Scope(**asked)
        caller.require(Action.OVERRIDE_READ, scope)
        tables = ladder.tables(effective_attributes(scope))
        query = urlencode({name: value for name, value in scope.segments.items() if value})
        return {"scope": scope, "query": query, "tables": tables}, 200
    except PermissionDenied as error:
        # With the form: who may read one project begins at "any", and is only one choice away.
        return {"problem": error, "denied": True}, 403
    except ControlplaneError as error:
        return {"problem": error}, 422
