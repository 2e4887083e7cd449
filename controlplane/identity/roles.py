"""Roles and the actions that they allow. Pure. One table, which docs and tests use, holds all permissions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from controlplane.scopes import Scope


class Role(StrEnum):
    VIEWER = "viewer"
    EDITOR = "editor"
    ADMIN = "admin"
    PUBLISHER = "publisher"
    OPERATOR = "operator"
    AUDITOR = "auditor"
    AGENT = "agent"
    # For the principal of a Kubernetes admission webhook.
    ADMISSION = "admission"


class Action(StrEnum):
    """Actions of requests. Their values are part of the API (`POST /api/v1/me:can-i`)."""

    SELF_READ = "self.read"
    SELF_WRITE = "self.write"
    OVERRIDE_READ = "override.read"
    OVERRIDE_WRITE = "override.write"
    # Take ownership of values from their manager.
    OVERRIDE_FORCE = "override.force"
    TYPE_WRITE = "type.write"
    RAIL_WRITE = "rail.write"
    PROJECT_READ = "project.read"
    PROJECT_WRITE = "project.write"
    AGENT_READ = "agent.read"
    AGENT_REGISTER = "agent.register"
    # With a join token, which has its own terms.
    AGENT_JOIN = "agent.join"
    AGENT_HEARTBEAT = "agent.heartbeat"
    AGENT_WRITE = "agent.write"
    AGENT_CONFIG_READ = "agent_config.read"
    # Publish for the role's team; for all teams if the role has none.
    AGENT_CONFIG_PUBLISH = "agent_config.publish"
    # Publish; quarantine, manage data planes and approvals. Without a team also grants and transfers.
    AGENT_CONFIG_RULE = "agent_config.rule"
    # Check as a Kubernetes admission webhook whether a document would be accepted.
    AGENT_CONFIG_ADMIT = "agent_config.admit"
    # Read and acknowledge a data plane's configuration, as that data plane.
    DATA_PLANE_FOLLOW = "data_plane.follow"
    RESOURCE_READ = "resource.read"
    # Request, delete, cancel and retry resources.
    RESOURCE_WRITE = "resource.write"
    # Delete resources by force; replay and discard dead letters.
    DISPATCH_OPERATE = "dispatch.operate"
    EVENT_READ = "event.read"
    # Read sinks with their deliveries; create, change, test and replay them.
    SINK_READ = "sink.read"
    SINK_WRITE = "sink.write"
    # Read rules, channels and alerts; change them and acknowledge alerts; send through a channel.
    NOTIFICATION_READ = "notification.read"
    NOTIFICATION_WRITE = "notification.write"
    NOTIFICATION_SEND = "notification.send"
    AUDIT_READ = "audit.read"
    ACCESS_READ = "access.read"
    ACCESS_WRITE = "access.write"
    METRICS_READ = "metrics.read"


_READS = frozenset(
    {
        Action.OVERRIDE_READ,
        Action.PROJECT_READ,
        Action.AGENT_READ,
        Action.AGENT_CONFIG_READ,
        Action.RESOURCE_READ,
        Action.EVENT_READ,
        Action.METRICS_READ,
        # Webhooks that were set up before the admission role existed are viewers.
        Action.AGENT_CONFIG_ADMIT,
    }
)
_AGENT = frozenset(
    {Action.AGENT_REGISTER, Action.AGENT_HEARTBEAT, Action.AGENT_READ, Action.DATA_PLANE_FOLLOW}
)
_EDITS = frozenset(
    {
        Action.AGENT_WRITE,
        Action.AGENT_CONFIG_PUBLISH,
        Action.OVERRIDE_WRITE,
        Action.PROJECT_WRITE,
        Action.RESOURCE_WRITE,
    }
)

ALLOWED: dict[Role, frozenset[Action]] = {
    Role.VIEWER: _READS,
    Role.EDITOR: _READS | _AGENT | _EDITS,
    Role.ADMIN: frozenset(Action),
    # Publishes agent configurations for one team: bind it with that team.
    Role.PUBLISHER: frozenset({Action.AGENT_CONFIG_READ, Action.AGENT_CONFIG_PUBLISH, Action.EVENT_READ}),
    # An operator also drains, resumes and rotates agents, which is `agent.heartbeat` for agents themselves.
    Role.OPERATOR: frozenset(
        {
            Action.AGENT_READ,
            Action.AGENT_WRITE,
            Action.AGENT_HEARTBEAT,
            Action.RESOURCE_READ,
            Action.RESOURCE_WRITE,
            Action.DISPATCH_OPERATE,
            Action.EVENT_READ,
            Action.SINK_READ,
            Action.SINK_WRITE,
            Action.NOTIFICATION_READ,
            Action.NOTIFICATION_WRITE,
            Action.NOTIFICATION_SEND,
        }
    ),
    Role.AUDITOR: frozenset({Action.AUDIT_READ, Action.EVENT_READ, Action.ACCESS_READ}),
    Role.AGENT: _AGENT,
    Role.ADMISSION: frozenset({Action.AGENT_CONFIG_ADMIT}),
}

# Actions that a role has only if it is limited to a team: an editor publishes for its own team alone.
_WITH_TEAM_ONLY: dict[str, frozenset[Action]] = {Role.EDITOR: frozenset({Action.AGENT_CONFIG_PUBLISH})}

# Actions for everybody with a valid token, whatever their roles.
FOR_EVERYONE = frozenset({Action.SELF_READ, Action.SELF_WRITE, Action.AGENT_JOIN})

# Actions on objects outside of projects and domains: they require a role at the global scope.
INSTALLATION_WIDE = frozenset(
    {
        Action.TYPE_WRITE,
        Action.AGENT_READ,
        Action.AGENT_REGISTER,
        Action.AGENT_HEARTBEAT,
        Action.AGENT_WRITE,
        Action.AGENT_CONFIG_RULE,
        Action.AGENT_CONFIG_ADMIT,
        Action.DATA_PLANE_FOLLOW,
        Action.SINK_READ,
        Action.SINK_WRITE,
        Action.NOTIFICATION_READ,
        Action.NOTIFICATION_WRITE,
        Action.NOTIFICATION_SEND,
        Action.METRICS_READ,
    }
)


# Actions on objects that a team can own. A role that is limited to a team allows them on its objects alone.
TEAM_OWNED = frozenset(
    {
        Action.AGENT_READ,
        Action.AGENT_REGISTER,
        Action.AGENT_HEARTBEAT,
        Action.AGENT_WRITE,
        Action.AGENT_CONFIG_READ,
        Action.AGENT_CONFIG_PUBLISH,
        Action.AGENT_CONFIG_RULE,
        Action.AGENT_CONFIG_ADMIT,
        Action.DATA_PLANE_FOLLOW,
        Action.RESOURCE_READ,
        Action.RESOURCE_WRITE,
        Action.DISPATCH_OPERATE,
        Action.EVENT_READ,
        Action.SINK_READ,
        Action.SINK_WRITE,
        Action.NOTIFICATION_READ,
        Action.NOTIFICATION_WRITE,
        Action.NOTIFICATION_SEND,
        Action.AUDIT_READ,
        Action.ACCESS_READ,
        Action.ACCESS_WRITE,
    }
)

# A role at any scope reaches the agent configurations of all teams, which have no scope.
_AT_ANY_SCOPE = frozenset({Action.AGENT_CONFIG_READ, Action.AGENT_CONFIG_PUBLISH})

# Administrators of a scope or team may perform these there, in views with `delegated = True`. All other views
# require them at the global scope.
DELEGATED = frozenset({Action.ACCESS_READ, Action.ACCESS_WRITE})


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
        without_team = frozenset() if self.team else _WITH_TEAM_ONLY.get(self.role, frozenset())
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


def scopes_where(grants: Iterable[Grant], action: Action) -> list[Scope]:
    """Return the scopes at and below which the grants allow the action, on objects of any owner."""
    return [grant.scope for grant in grants if grant.team is None and action in grant.actions]


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
