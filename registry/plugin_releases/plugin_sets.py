"""The plugin set of a team or of the platform: looked up for a caller, created by its first change."""

from __future__ import annotations

from django.db.models import QuerySet

from controlplane.access.team_models import Team
from controlplane.access.teams.owning_team import choose_team
from controlplane.errors import UnknownTeam
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.plugin_releases.models import PluginSet


def visible_sets(caller: Caller) -> QuerySet[PluginSet]:
    """Return the sets that the caller may read."""
    return PluginSet.objects.within(caller).select_related("team", "active")


def find_team(caller: Caller, slug: str, action: Action) -> Team | None:
    """Return the team of this name, or None for the platform.

    Without a name it is the platform, or the only team that the caller reaches. Raises UnknownTeam,
    PermissionDenied.
    """
    team = choose_team(caller.owners_for(Action.PLUGIN_READ), slug or None)
    caller.require(action, owner=team.id if team else None)
    return team


def find_set(caller: Caller, slug: str, action: Action = Action.PLUGIN_READ) -> PluginSet | None:
    """Return the set of this team or of the platform, if it was ever configured."""
    team = find_team(caller, slug, action)
    return PluginSet.objects.select_related("team", "active").filter(team=team).first()


def lock_set(team: Team | None) -> PluginSet:
    """Return the set, created if it is missing, and lock it until the transaction ends.

    All changes of a set wait for each other: its configuration, releases and what is active.
    """
    PluginSet.objects.bulk_create([PluginSet(team=team)], ignore_conflicts=True)
    # In two statements: PostgreSQL would join the row that it waited for with the release of before.
    locked = PluginSet.objects.select_for_update(no_key=True).filter(team=team).first()
    if locked is None:
        raise UnknownTeam("The team was deleted meanwhile.")
    return PluginSet.objects.select_related("team", "active").get(id=locked.id)


def name_of(plugin_set: PluginSet) -> str:
    """Return the team's name; empty for the platform."""
    return plugin_set.team.slug if plugin_set.team else ""
