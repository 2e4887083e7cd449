"""The team that owns a new agent or join token."""

from __future__ import annotations

from controlplane.access.team_models import Team
from controlplane.database.owned import of_owners
from controlplane.errors import FieldError, InvalidRequest, UnknownTeam
from controlplane.identity.grants import Owners

_MAX_NAMED = 20


def choose_team(owners: Owners, slug: str | None) -> Team | None:
    """Return the team with this name; without a name the only team in reach. None is the platform.

    owners: those for whom the caller may create the object. Raises UnknownTeam also for a team out of reach,
    InvalidRequest if several are in reach.
    """
    if slug:
        return _named(owners, slug)
    if owners.everything:
        return None
    teams = list(Team.objects.filter(id__in=owners.team_ids).order_by("slug"))
    if len(teams) == 1:
        return teams[0]
    names = ", ".join(team.slug for team in teams[:_MAX_NAMED])
    message = f"Your roles are limited to several teams. Set team to one of: {names}."
    raise InvalidRequest(message, errors=[FieldError("/team", "required", message)])


def _named(owners: Owners, slug: str) -> Team:
    team = Team.objects.filter(of_owners(owners, "id"), slug=slug).order_by("created_at").first()
    if team is None:
        raise UnknownTeam(f"Team {slug[:80]!r} does not exist.")
    return team
