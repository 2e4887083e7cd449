"""Who may perform an action at a scope, and by which role binding or team."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode

from console.cpctl_commands import cpctl, curl
from console.filter_choices import domains, projects, select_options
from console.pages import load_page, page
from controlplane.access.permissions import may_somewhere
from controlplane.access.roles.permission_matrix import ORDER, require_matrix, visible_rows
from controlplane.access.team_models import Team
from controlplane.access.teams.visible_teams import get_visible_team, visible_teams
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.errors import ControlplaneError, PermissionDenied
from controlplane.identity.callers import Caller
from controlplane.identity.roles import FOR_EVERYONE, INSTALLATION_WIDE, TEAM_OWNED, Action
from controlplane.scopes import SEGMENTS, Scope

_MAX_TEAMS = 1000
_DEFAULT = Action.OVERRIDE_WRITE


@page
def who_can(request: HttpRequest, caller: Caller) -> HttpResponse:
    if not may_somewhere(caller, Action.ACCESS_READ, delegated=True):
        caller.require(Action.ACCESS_READ)
    query = {name: request.GET.get(name, "").strip() for name in ("action", "team", *SEGMENTS)}
    problem, status, results = None, 200, None
    try:
        results = _answer(request, caller, query)
    except ControlplaneError as error:
        # Until a delegated administrator has chosen a scope or team, a refusal is no problem to show.
        if any(query.values()) or not isinstance(error, PermissionDenied):
            problem, status = error, STATUS_BY_ERROR[type(error)]
    context = {
        "problem": problem,
        "results": results,
        "query": query,
        "action": query["action"] or _DEFAULT,
        "actions": sorted(frozenset(Action) - FOR_EVERYONE),
        "teams": select_options(_teams(caller), query["team"]),
        "projects": select_options(projects(caller), query["project"]),
        "domains": domains(),
        "notes": _notes(query),
        "curl": curl(request, "GET", f"access/matrix?{_query(query)}"),
        "cpctl": _cpctl(query),
    }
    return render(request, "console/access/who_can.html", context, status=status)


def _answer(request: HttpRequest, caller: Caller, query: dict[str, str]) -> Any:
    action = _action(query["action"])
    scope = Scope(**{name: query[name] for name in SEGMENTS})
    team: Team | None = get_visible_team(caller, query["team"]) if query["team"] else None
    require_matrix(caller, action, scope, team)
    return load_page(request, caller, visible_rows(caller, action, scope, team), order=ORDER)


def _query(query: dict[str, str]) -> str:
    return urlencode({"action": _DEFAULT, **{name: value for name, value in query.items() if value}})


def _action(name: str) -> Action:
    return Action(name) if name in set(Action) else _DEFAULT


def _notes(query: dict[str, str]) -> list[str]:
    """Explain which part of the question has no effect on the answer."""
    action = _action(query["action"])
    has_scope = any(query[name] for name in SEGMENTS)
    notes = []
    if has_scope and action in INSTALLATION_WIDE:
        notes.append(f"{action} belongs to no project or domain: only roles at the global scope allow it.")
    if query["team"] and action not in TEAM_OWNED:
        notes.append(f"{action} concerns objects that no team owns: roles limited to a team do not allow it.")
    return notes


def _teams(caller: Caller) -> list[str]:
    return list(visible_teams(caller).order_by("slug").values_list("slug", flat=True)[:_MAX_TEAMS])


def _cpctl(query: dict[str, str]) -> str:
    words = [
        word
        for name in ("project", "domain", "workflow", "launch_plan", "team")
        if query[name]
        for word in (f"--{name.replace('_', '-')}", query[name])
    ]
    return cpctl("access", "matrix", str(_action(query["action"])), *words)
