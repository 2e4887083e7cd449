"""Teams that a caller may read: those that it administers, belongs to, or has a role for."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from controlplane.access.role_bindings import bindings_in_force
from controlplane.access.team_models import Membership, Team
from controlplane.errors import PermissionDenied, UnknownTeam
from controlplane.identity.callers import Caller
from controlplane.identity.grants import missing_rights
from controlplane.identity.roles import Action


def visible_teams(caller: Caller) -> QuerySet[Team]:
    """Return the teams that the caller may read, with their organisation."""
    rows = Team.objects.select_related("organisation")
    owners = caller.owners_for(Action.ACCESS_READ)
    if owners.everything:
        return rows
    named = {grant.team.id for grant in caller.grants if grant.team}
    visible = Q(id__in=owners.team_ids | named)
    if caller.principal_id is not None:
        own = Membership.objects.filter(principal_id=caller.principal_id)
        visible |= Q(id__in=own.values("team_id"))
    return rows.filter(visible)


def get_visible_team(caller: Caller, slug: str) -> Team:
    """Return a team that the caller may read. Raises UnknownTeam."""
    team = visible_teams(caller).filter(slug=slug).order_by("created_at").first()
    if team is None:
        raise UnknownTeam(f"Team {slug[:80]!r} does not exist.")
    return team


def get_team_to_change(caller: Caller, slug: str) -> Team:
    """Return a team that the caller administers. Raises UnknownTeam, PermissionDenied."""
    team = get_visible_team(caller, slug)
    caller.require(Action.ACCESS_WRITE, owner=team.id)
    return team


def check_may_add_members(caller: Caller, team: Team) -> None:
    """Raise PermissionDenied if membership would give a right that the caller lacks."""
    grants = [binding.grant for binding in bindings_in_force().filter(team=team)]
    missing = missing_rights(grants, caller.grants)
    if missing:
        raise PermissionDenied(
            f"You cannot add members to team {team.slug}: its roles have permissions that you lack:"
            f" {', '.join(missing)}.",
            action=Action.ACCESS_WRITE.value,
        )
