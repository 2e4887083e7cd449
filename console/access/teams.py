"""Teams: list, create, change and delete."""

from __future__ import annotations

from django.contrib import messages
from django.db.models import Count
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from console.access.team_members import member_context
from console.confirmations import Change, confirm_change
from console.cpctl_commands import cpctl, curl
from console.forms import parse_form, parse_number, read_form
from console.pages import actor_of, load_page, page
from controlplane.access.team_models import Team
from controlplane.access.teams import teams as changes
from controlplane.access.teams.visible_teams import get_team_to_change, get_visible_team, visible_teams
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.endpoints.access.teams.schemas import TeamReplacement, TeamWrite
from controlplane.errors import ControlplaneError, PermissionDenied
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.preconditions import Precondition


@page
def teams(request: HttpRequest, caller: Caller) -> HttpResponse:
    problem, status = None, 200
    if request.method == "POST":
        try:
            return _create(request, caller)
        except PermissionDenied:
            raise
        except ControlplaneError as error:
            problem, status = error, STATUS_BY_ERROR[type(error)]
    query = request.GET.get("q", "").strip()
    rows = visible_teams(caller).annotate(now=Now(), members=Count("memberships__principal", distinct=True))
    if query:
        rows = rows.filter(slug__icontains=query) if query.isprintable() else rows.none()
    context = {
        "problem": problem,
        "query": query,
        "form": {name: request.POST.get(name, "") for name in ("slug", "title")},
        "results": load_page(request, caller, rows, order=("slug", "id")),
        "may_write": caller.verdict(Action.ACCESS_WRITE).allowed,
        "curl": curl(request, "GET", "teams"),
        "cpctl": cpctl("teams", "list"),
    }
    return render(request, "console/access/teams.html", context, status=status)


@page
def team(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    """Show a team, and change its title."""
    problem, status = None, 200
    if request.method == "POST":
        try:
            return _change(request, caller, slug)
        except PermissionDenied:
            raise
        except ControlplaneError as error:
            problem, status = error, STATUS_BY_ERROR[type(error)]
    row = get_visible_team(caller, slug)
    context = {
        "problem": problem,
        "team": row,
        "title": request.POST.get("title", row.title),
        "may_write": caller.verdict(Action.ACCESS_WRITE, owner=row.id).allowed,
        "may_delete": caller.verdict(Action.ACCESS_WRITE).allowed,
        "curl": curl(request, "GET", f"teams/{row.slug}"),
        "cpctl": cpctl("teams", "show", row.slug),
        **member_context(request, caller, row),
    }
    return render(request, "console/access/team.html", context, status=status)


@page
def delete(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    row = get_visible_team(caller, slug)
    caller.require(Action.ACCESS_WRITE)
    change = Change(
        f"Delete the team {row.slug}?",
        (
            f"Members that leave it: {row.memberships.values('principal').distinct().count()}.",
            f"Role bindings that end: {row.role_bindings.count()} of the team,"
            f" {row.limited_bindings.count()} limited to its objects.",
            "A team that owns agents or documents cannot be deleted.",
        ),
        "Delete team",
        reverse("teams"),
        f"Deleted the team {row.slug}.",
        (),
        {
            "curl": curl(request, "DELETE", f"teams/{row.slug}", version=row.version),
            "cpctl": cpctl("teams", "delete", row.slug),
        },
        is_destructive=True,
    )
    return confirm_change(request, change, lambda form: changes.delete_team(row, actor=actor_of(caller)))


def _create(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require(Action.ACCESS_WRITE)
    form = read_form(request)
    body = parse_form(TeamWrite, {"slug": form.get("slug", ""), "title": form.get("title", "")})
    row = changes.create_team(body["slug"], title=body["title"], actor=actor_of(caller))
    messages.success(request, f"Created the team {row.slug}. Add its members.")
    return redirect("team", row.slug)


def _change(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    row: Team = get_team_to_change(caller, slug)
    form = read_form(request)
    body = parse_form(TeamReplacement, {"title": form.get("title", "")})
    version = parse_number(form.get("version", ""))
    changes.change_team(
        row,
        title=body["title"],
        external_group=row.external_group,
        actor=actor_of(caller),
        precondition=Precondition(frozenset({version} if isinstance(version, int) else ())),
    )
    messages.success(request, f"Changed the title of team {row.slug}.")
    return redirect("team", row.slug)
