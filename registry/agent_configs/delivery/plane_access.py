"""Which data planes a caller reads, follows and administers.

A data plane belongs to a team or to the platform. Its bundles contain documents of all teams that it gets, so
they are shown only to readers of all these teams.
"""

from __future__ import annotations

from uuid import UUID

from controlplane.errors import FieldError, InvalidRequest, PermissionDenied, UnknownDataPlane
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agent_configs.delivery.data_planes import DataPlaneSpec, get_bundle
from registry.agent_configs.models import AgentConfigBundle, DataPlane, DataPlaneQuerySet
from registry.agent_configs.owners import owner_of
from registry.agent_configs.publishing.hidden_teams import hidden_teams, names_only, shows_contents


def readable_planes(caller: Caller) -> DataPlaneQuerySet:
    """Return the data planes that the caller reads; those that it administers, if an organisation is hidden.

    Raises PermissionDenied if there can be none.
    """
    planes = DataPlane.objects.select_related("team")
    if not hidden_teams(caller).names:
        return planes.within(caller)
    if not caller.owners_for(Action.AGENT_CONFIG_RULE):
        raise PermissionDenied(
            "Bundles contain documents of organisations that you do not publish for.",
            action=Action.AGENT_CONFIG_RULE.value,
        )
    return planes.within(caller, Action.AGENT_CONFIG_RULE)


def get_readable_plane(name: str, caller: Caller) -> DataPlane:
    """Raises UnknownDataPlane, also for another team's."""
    plane = readable_planes(caller).filter(name=name).first()
    if plane is None:
        raise UnknownDataPlane(f"Data plane {name[:80]!r} does not exist.")
    return plane


def planes_with_readable_contents(caller: Caller) -> list[str] | None:
    """Return the names of the data planes whose bundles the caller reads; None for all."""
    hidden = hidden_teams(caller)
    if not hidden:
        return None
    return [plane.name for plane in readable_planes(caller) if shows_contents(plane, hidden)]


def get_readable_bundle(name: str, revision: int, caller: Caller) -> AgentConfigBundle:
    """Raises UnknownDataPlane, UnknownBundle, and PermissionDenied if it has documents of hidden teams."""
    check_contents(get_readable_plane(name, caller), caller)
    return get_bundle(name, revision)


def get_ruled_plane(name: str, caller: Caller) -> DataPlane:
    """Return the data plane to change it. Raises UnknownDataPlane, PermissionDenied."""
    plane = get_readable_plane(name, caller)
    caller.require(Action.AGENT_CONFIG_RULE, owner=plane.team_id)
    return plane


def check_contents(plane: DataPlane, caller: Caller) -> None:
    """Raise PermissionDenied if the data plane gets documents of teams that the caller does not see."""
    if not shows_contents(plane, hidden_teams(caller)):
        raise PermissionDenied(
            f"{plane.name} gets documents of teams that you do not see. An administrator of all teams can do"
            " this.",
            action=Action.AGENT_CONFIG_RULE.value,
        )


def check_may_put(name: str, spec: DataPlaneSpec, caller: Caller) -> None:
    """Raise unless the caller administers the data plane as it is, and as the spec makes it.

    Raises UnknownDataPlane for another team's, InvalidRequest for teams that the caller does not see.
    """
    # First, so that nobody learns which names are taken by asking for what they may not have.
    caller.require(Action.AGENT_CONFIG_RULE, owner=owner_of(spec.team) if spec.team else None)
    if DataPlane.objects.filter(name=name).exists():
        get_ruled_plane(name, caller)
    hidden = hidden_teams(caller)
    if hidden and not names_only(spec.teams, hidden):
        message = "List the teams whose documents the data plane gets by name; you must see each of them."
        raise InvalidRequest(message, errors=[FieldError("/teams", "unknown_team", message)])


def get_followed_plane(name: str, caller: Caller) -> DataPlane:
    """Return the data plane if the caller is its principal or administers it.

    Raises UnknownDataPlane otherwise, even if it exists.
    """
    plane = DataPlane.objects.filter(name=name).first()
    if plane is None or not _may_follow(caller, plane):
        raise UnknownDataPlane(
            f"No data plane {name[:80]!r} with the principal {caller.name} exists. "
            "An administrator can set the data plane's `principal`."
        )
    return plane


def follows_as_principal(caller: Caller, principal: str, owner: UUID | None) -> bool | None:
    """Return whether the principal of a data plane may follow it; None if the caller is somebody else.

    Its grants alone decide it. owner: of the data plane.
    """
    if caller.principal_id is None or principal != caller.name:
        return None
    return caller.verdict(Action.DATA_PLANE_FOLLOW, owner=owner).allowed


def _may_follow(caller: Caller, plane: DataPlane) -> bool:
    follows = follows_as_principal(caller, plane.principal, plane.team_id)
    if follows is not None:
        return follows
    rules = caller.verdict(Action.AGENT_CONFIG_RULE, owner=plane.team_id).allowed
    return rules and shows_contents(plane, hidden_teams(caller))
