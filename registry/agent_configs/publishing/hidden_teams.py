"""The teams and data planes that a caller does not see, and where their names would stand."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Q

from controlplane.database.owned import of_owners
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agent_configs.models import DataPlane
from registry.agent_configs.owners import owners_of
from registry.agent_configs.team_models import PublishingTeam

_PATTERN = frozenset("*?[")
# Unlike Q(), it matches every row in an OR, too.
_EVERY_ROW = ~Q(pk__in=[])


@dataclass(frozen=True, slots=True)
class HiddenTeams:
    """Hidden teams by name. all_but: every team is hidden but these; None: `names` alone are."""

    names: frozenset[str] = frozenset()
    all_but: frozenset[str] | None = None

    def __contains__(self, team: object) -> bool:
        return team in self.names if self.all_but is None else team not in self.all_but

    def __bool__(self) -> bool:
        return bool(self.names) or self.all_but is not None

    def visible(self, column: str) -> Q:
        """Match rows of visible teams. column: with the team's name."""
        if self.all_but is not None:
            return Q(**{f"{column}__in": sorted(self.all_but)})
        return ~Q(**{f"{column}__in": sorted(self.names)}) if self.names else _EVERY_ROW


def hidden_teams(caller: Caller) -> HiddenTeams:
    """Return the teams whose documents the caller does not see.

    Roles for teams show these teams alone. Other roles show all teams but those of an organisation for none
    of whose teams the caller has a role.
    """
    if caller.owners_for(Action.AGENT_CONFIG_RULE).everything:
        return HiddenTeams()
    if caller.verdict(Action.AGENT_CONFIG_PUBLISH).allowed:
        return HiddenTeams()
    readable = caller.owners_for(Action.AGENT_CONFIG_READ)
    own = _names_of(caller, readable.team_ids)
    if not readable.everything:
        return HiddenTeams(all_but=own)
    return HiddenTeams(_names_in_other_organisations(readable.team_ids) - own)


def hidden_names(caller: Caller) -> list[str]:
    """Return the hidden teams for the event filter, whose rights already end at the caller's teams."""
    return sorted(hidden_teams(caller).names)


def shows_contents(plane: DataPlane, hidden: HiddenTeams) -> bool:
    """True if the data plane gets documents of visible teams alone."""
    return not hidden or names_only(plane.teams, hidden)


def names_only(teams: Sequence[str], hidden: Container[str]) -> bool:
    """True if these patterns of teams are names, each of a visible team."""
    return bool(teams) and all(_PATTERN.isdisjoint(team) and team not in hidden for team in teams)


def planes_with_visible_names(caller: Caller, team_path: str = "data_plane__team") -> Q:
    """Match rows of data planes of the platform and of the caller's teams. team_path: to the owner.

    A document's own team sees where it is served, but no other team's data planes.
    """
    owners = caller.owners_for(Action.AGENT_CONFIG_READ)
    return _EVERY_ROW if owners.everything else Q(**{team_path: None}) | of_owners(owners, team_path)


def _names_of(caller: Caller, team_ids: frozenset[UUID]) -> frozenset[str]:
    """Return the names of these teams that own what has their name."""
    if not team_ids:
        return frozenset()
    names = {grant.team.slug for grant in caller.grants if grant.team and grant.team.id in team_ids}
    return frozenset(name for name, team_id in owners_of(names).items() if team_id in team_ids)


def _names_in_other_organisations(team_ids: frozenset[UUID]) -> frozenset[str]:
    rows: Any = PublishingTeam.objects.exclude(organisation="")
    rows = list(rows.values_list("team_id", "team__slug", "organisation"))
    own = {organisation for team_id, _, organisation in rows if team_id in team_ids}
    return frozenset(name for _, name, organisation in rows if organisation not in own)
