"""OAuth scopes as ceilings of a token. Pure.

A token with scopes allows what both a role of its principal and one of its scopes allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from controlplane.errors import InvalidScope
from controlplane.identity.grants import Grant, TeamRef
from controlplane.identity.roles import Action
from controlplane.scopes import Scope

EVERYTHING = "all"
_PUBLISH = "publish:"
_RUN_INPUT = "run-input:"
_BY_SCOPE = {
    # Without the input of runs, which has secrets.
    "read": frozenset(action for action in Action if action.value.endswith(".read"))
    - {Action.RUN_INPUT_READ},
    "overrides": frozenset(
        {
            Action.OVERRIDE_READ,
            Action.OVERRIDE_WRITE,
            Action.OVERRIDE_FORCE,
            Action.RAIL_WRITE,
            Action.FREEZE_WRITE,
            Action.FREEZE_OVERRIDE,
            Action.APPROVAL_WRITE,
            Action.OVERRIDE_APPROVE,
            Action.APPROVAL_BYPASS,
            Action.PROJECT_READ,
            Action.PROJECT_WRITE,
        }
    ),
    "resources": frozenset({Action.RESOURCE_READ, Action.RESOURCE_WRITE, Action.PROJECT_READ}),
    "pools": frozenset({Action.POOL_READ, Action.POOL_USE, Action.PROJECT_READ}),
    "scim": frozenset(),
    "notify": frozenset({Action.ALERT_REPORT}),
    "agents": frozenset(
        {
            Action.AGENT_READ,
            Action.AGENT_REGISTER,
            Action.AGENT_HEARTBEAT,
            Action.AGENT_WRITE,
            Action.DATA_PLANE_FOLLOW,
        }
    ),
}
# For the SCIM endpoints alone, which check it themselves.
SCIM = "scim"
_PUBLISHING = frozenset({Action.AGENT_CONFIG_READ, Action.AGENT_CONFIG_PUBLISH})
_BOOTING = frozenset({Action.JOB_RUN, Action.RUN_INPUT_READ})
# What everyone with a token may do is cut too: a token with a ceiling must not create one without.
_FOR_EVERYONE = frozenset({Action.SELF_READ, Action.AGENT_JOIN})


@dataclass(frozen=True, slots=True)
class _Part:
    """What one scope allows. team: None for all teams. place: where; everything is below `Scope()`."""

    actions: frozenset[Action]
    team: TeamRef | None = None
    place: Scope = Scope()


def cut(
    grants: Iterable[Grant], scopes: Iterable[str], teams: Mapping[str, TeamRef] = MappingProxyType({})
) -> tuple[Grant, ...]:
    """Return what the scopes leave of the grants. teams: those of `teams_named`, by name."""
    scopes = tuple(scopes)
    if EVERYTHING in scopes:
        return tuple(grants)
    parts = [part for scope in scopes if (part := _part(scope, teams)) is not None]
    cuts = (_cut(grant, part) for grant in grants for part in parts)
    return tuple(grant for grant in cuts if grant is not None)


def teams_named(scopes: Iterable[str]) -> frozenset[str]:
    """Return the names of the teams in scopes such as `publish:ml`."""
    return frozenset(scope.removeprefix(_PUBLISH) for scope in scopes if scope.startswith(_PUBLISH))


def allows_for_everyone(action: Action, scopes: Iterable[str]) -> bool:
    """True if a token with these scopes allows an action that needs no role."""
    return EVERYTHING in tuple(scopes) or action in _FOR_EVERYONE


def is_ceiling(scope: str) -> bool:
    """True if the scope allows actions; others, such as `openid`, allow none."""
    has_name = any(scope.startswith(prefix) and scope != prefix for prefix in (_PUBLISH, _RUN_INPUT))
    return scope == EVERYTHING or scope in _BY_SCOPE or has_name


def _part(scope: str, teams: Mapping[str, TeamRef]) -> _Part | None:
    if scope.startswith(_PUBLISH):
        team = teams.get(scope.removeprefix(_PUBLISH))
        return _Part(_PUBLISHING, team) if team else None
    if scope.startswith(_RUN_INPUT):
        return _boot_part(scope.removeprefix(_RUN_INPUT))
    return _Part(_BY_SCOPE[scope]) if scope in _BY_SCOPE else None


def _boot_part(project: str) -> _Part | None:
    """Return what `run-input:<project>` allows; None for a name that no project can have."""
    try:
        return _Part(_BOOTING, place=Scope(project=project)) if project else None
    except InvalidScope:
        return None


def _cut(grant: Grant, part: _Part) -> Grant | None:
    """Return the part of the grant; None if nothing is left."""
    actions = grant.actions & part.actions
    is_other_team = part.team is not None and grant.team not in (None, part.team)
    place = grant.scope.joined(part.place)
    if not actions or is_other_team or place is None:
        return None
    return replace(grant, scope=place, team=part.team or grant.team, custom_actions=actions)
