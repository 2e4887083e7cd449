"""Members of a team: show, add and remove; and the roles that a team has."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from console.confirmations import Change, confirm_change
from console.cpctl_commands import cpctl, curl
from console.forms import read_form
from console.pages import actor_of, load_page, page
from controlplane.access.models import Principal, PrincipalKind
from controlplane.access.principals import get_visible_principal
from controlplane.access.role_bindings import bindings_in_force
from controlplane.access.roles.visible_bindings import visible_bindings
from controlplane.access.team_models import Team
from controlplane.access.teams import memberships
from controlplane.access.teams.visible_teams import check_may_add_members, get_team_to_change
from controlplane.endpoints.access.teams.member_views import members_of
from controlplane.endpoints.access.teams.schemas import show_member
from controlplane.identity.callers import Caller
from controlplane.identity.grants import missing_rights
from controlplane.identity.roles import Action

_MAX_CHOICES = 1000


def member_context(request: HttpRequest, caller: Caller, team: Team) -> dict[str, Any]:
    """Return the members and roles of a team, for its page."""
    visible = visible_bindings(caller).annotate(now=Now())
    results = load_page(request, caller, members_of(team), order=("name",))
    return {
        "results": results,
        "members": [show_member(member) for member in results.items],
        "own_bindings": visible.filter(team=team).order_by("role", "id")[:_MAX_CHOICES],
        "limited_bindings": visible.filter(owned_by=team)
        .exclude(team=team)
        .order_by("role", "id")[:_MAX_CHOICES],
        "choices": _choices(caller, team),
    }


@require_POST
@page
def add(request: HttpRequest, caller: Caller, slug: str) -> HttpResponse:
    team = get_team_to_change(caller, slug)
    check_may_add_members(caller, team)
    principal = get_visible_principal(caller, read_form(request).get("principal", "").strip())
    memberships.add_member(team, principal, actor=actor_of(caller))
    messages.success(request, f"Added {principal.name} to team {team.slug}.")
    return redirect("team", team.slug)


@page
def remove(request: HttpRequest, caller: Caller, slug: str, name: str) -> HttpResponse:
    team = get_team_to_change(caller, slug)
    principal = get_visible_principal(caller, name)
    change = Change(
        f"Remove {principal.name} from team {team.slug}?",
        _losses(team, principal),
        "Remove member",
        reverse("team", args=[team.slug]),
        f"Removed {principal.name} from team {team.slug}.",
        (),
        {
            "curl": curl(request, "DELETE", f"teams/{team.slug}/members/{principal.name}"),
            "cpctl": cpctl("teams", "remove", team.slug, principal.name),
        },
        is_destructive=True,
    )
    return confirm_change(
        request, change, lambda form: memberships.remove_member(team, principal, actor=actor_of(caller))
    )


def _losses(team: Team, principal: Principal) -> tuple[str, ...]:
    """Describe the permissions that only this team gives."""
    other_teams = principal.memberships.exclude(team=team).values("team_id")
    rest = [
        *bindings_in_force().filter(principal=principal),
        *bindings_in_force().filter(team_id__in=other_teams),
    ]
    through_team = [binding.grant for binding in bindings_in_force().filter(team=team)]
    lost = missing_rights(through_team, [binding.grant for binding in rest])
    if not lost:
        return ("No permission is lost.",)
    return (f"Permissions lost immediately: {', '.join(lost)}.",)


def _choices(caller: Caller, team: Team) -> list[str]:
    """Return the principals to choose from. Delegated administrators type a name: they may not list them."""
    if not caller.verdict(Action.ACCESS_READ).allowed:
        return []
    rows = Principal.objects.exclude(kind=PrincipalKind.AGENT).exclude(memberships__team=team)
    return list(rows.order_by("name").values_list("name", flat=True)[:_MAX_CHOICES])
