"""Grants of roles, and what they allow on which objects. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from controlplane.identity.roles import (
    ALLOWED,
    FOR_EVERYONE,
    INSTALLATION_WIDE,
    TEAM_OWNED,
    WITH_TEAM_ONLY,
    Action,
    Role,
)
from controlplane.scopes import Scope

_BUILT_IN = frozenset(Role)
# A role at any scope reaches the agent configurations of all teams, which have no scope.
_AT_ANY_SCOPE = frozenset({Action.AGENT_CONFIG_READ, Action.AGENT_CONFIG_PUBLISH})


@dataclass(frozen=True, slots=True)
class TeamRef:
    """A team by its id, with its name for messages."""

    id: UUID
    slug: str


@dataclass(frozen=True, slots=True)
class Grant:
    """A role at a scope; `Scope()` is the global scope.

    team: the role allows the actions of TEAM_OWNED on objects of this team, and nothing else.
    custom_actions: of an operators' own role, or what a token's scopes leave of a role; None for the actions
    of the built-in role.
    """

    role: str
    scope: Scope = Scope()
    team: TeamRef | None = None
    custom_actions: frozenset[Action] | None = None

    @property
    def actions(self) -> frozenset[Action]:
        if self.custom_actions is not None:
            return self.custom_actions
        if self.role not in _BUILT_IN:  # of a later release, which runs beside this one
            return frozenset()
        without_team = frozenset() if self.team else WITH_TEAM_ONLY.get(self.role, frozenset())
        return ALLOWED[Role(self.role)] - without_team

    def allows(self, action: Action, scope: Scope, owner: UUID | None) -> bool:
        """True if the grant allows the action at the scope on an object of the owner; None: the platform."""
        has_team = self.team is None or (action in TEAM_OWNED and self.team.id == owner)
        return has_team and action in self.actions and self.scope.covers(scope)

    def __str__(self) -> str:
        team = f" for team {self.team.slug}" if self.team else ""
        return f"{self.role} at {self.scope}{team}"


@dataclass(frozen=True, slots=True)
class Owners:
    """The owners whose objects an action reaches. everything: all teams and the platform."""

    everything: bool
    team_ids: frozenset[UUID]

    def __bool__(self) -> bool:
        return self.everything or bool(self.team_ids)

    def include(self, owner: UUID | None) -> bool:
        return self.everything or owner in self.team_ids


@dataclass(frozen=True, slots=True)
class Verdict:
    allowed: bool
    reason: str


def decide(grants: Iterable[Grant], action: Action, scope: Scope, owner: UUID | None = None) -> Verdict:
    """Decide whether the grants allow the action at the scope, on an object of the owner.

    The reason names roles that allow it. owner: the team's id; None for objects of the platform.
    """
    if action in FOR_EVERYONE:
        return Verdict(True, "Everyone with a valid token may do this.")
    checked = Scope() if action in INSTALLATION_WIDE else scope
    for grant in grants:
        if grant.allows(action, checked, owner):
            return Verdict(True, f"The role {grant} allows it.")
    roles = ", ".join(role for role in Role if action in Grant(role).actions)
    return Verdict(False, f"{action} at {checked} requires one of the roles: {roles}.")


def missing_rights(required: Iterable[Grant], held_grants: Iterable[Grant]) -> list[str]:
    """Return the permissions of `required` that `held_grants` lack, as sorted `action at scope`."""
    held_grants = tuple(held_grants)
    missing = set()
    for grant in required:
        owner = grant.team.id if grant.team else None
        suffix = f" for team {grant.team.slug}" if grant.team else ""
        for action in grant.actions:
            has_effect = decide([grant], action, grant.scope, owner).allowed
            if has_effect and not decide(held_grants, action, grant.scope, owner).allowed:
                missing.add(f"{action} at {grant.scope}{suffix}")
    return sorted(missing)


def scopes_where(grants: Iterable[Grant], action: Action, owner: UUID | None = None) -> list[Scope]:
    """Return the scopes at and below which the grants allow the action.

    owner: on objects of this team; None: on objects of any owner.
    """
    return [
        grant.scope
        for grant in grants
        if action in grant.actions and (grant.team is None or (owner is not None and grant.team.id == owner))
    ]


def owners_at(grants: Iterable[Grant], action: Action, scope: Scope) -> Owners:
    """Return the owners on whose objects at the scope the grants allow the action."""
    matching = [grant for grant in grants if action in grant.actions and grant.scope.covers(scope)]
    teams = frozenset(grant.team.id for grant in matching if grant.team and action in TEAM_OWNED)
    return Owners(any(grant.team is None for grant in matching), teams)


def owners_where(grants: Iterable[Grant], action: Action) -> Owners:
    """Return the owners whose objects the grants allow the action on."""
    matching = [
        grant
        for grant in grants
        if action in grant.actions and (action in _AT_ANY_SCOPE or grant.scope == Scope())
    ]
    teams = frozenset(grant.team.id for grant in matching if grant.team and action in TEAM_OWNED)
    return Owners(any(grant.team is None for grant in matching), teams)
