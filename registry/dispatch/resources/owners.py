"""The teams that own resources."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from controlplane.access.team_models import Team
from controlplane.access.teams.owning_team import choose_team
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from registry.dispatch.models import ResourceRow


def choose_owner(
    caller: Caller, scope: Scope, slug: str | None, action: Action = Action.RESOURCE_WRITE
) -> Team | None:
    """Return the team with this name; without a name the only one for which the caller may do this.

    None is the platform. Raises PermissionDenied, UnknownTeam, InvalidRequest if several teams are possible.
    """
    owners = caller.owners_at(action, scope)
    if not owners:
        caller.require(action, scope)
    # A role at a project alone does not reach the agents of a team.
    if slug and not caller.owners_for(action).everything:
        owners = replace(owners, everything=False)
    team = choose_team(owners, slug)
    caller.require(action, scope, owner=team.id if team else None)
    return team


def team_of(resource_id: str) -> UUID | None:
    """Return the id of the team that owns the resource, or None."""
    return ResourceRow.objects.filter(id=resource_id).values_list("team_id", flat=True).first()
