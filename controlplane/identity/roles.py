"""Roles and the actions that they allow. Pure. One table, which docs and tests use, holds all permissions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from controlplane.scopes import Scope


class Role(StrEnum):
    VIEWER = "viewer"
    EDITOR = "editor"
    ADMIN = "admin"
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
    # Publish for teams that list the caller as a publisher.
    AGENT_CONFIG_PUBLISH = "agent_config.publish"
    # Publish for all teams; manage grants, data planes and approvals.
    AGENT_CONFIG_RULE = "agent_config.rule"
    # Check as a Kubernetes admission webhook whether a document would be accepted.
    AGENT_CONFIG_ADMIT = "agent_config.admit"
    # Read and acknowledge a data plane's configuration, as that data plane.
    DATA_PLANE_FOLLOW = "data_plane.follow"
    EVENT_READ = "event.read"
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
    {Action.AGENT_WRITE, Action.AGENT_CONFIG_PUBLISH, Action.OVERRIDE_WRITE, Action.PROJECT_WRITE}
)

ALLOWED: dict[Role, frozenset[Action]] = {
    Role.VIEWER: _READS,
    Role.EDITOR: _READS | _AGENT | _EDITS,
    Role.ADMIN: frozenset(Action),
    Role.AGENT: _AGENT,
    Role.ADMISSION: frozenset({Action.AGENT_CONFIG_ADMIT}),
}

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
        Action.ACCESS_READ,
        Action.ACCESS_WRITE,
        Action.METRICS_READ,
    }
)


@dataclass(frozen=True, slots=True)
class Grant:
    """A role at a scope; `Scope()` is the global scope."""

    role: Role
    scope: Scope


@dataclass(frozen=True, slots=True)
class Verdict:
    allowed: bool
    reason: str


def decide(grants: Iterable[Grant], action: Action, scope: Scope) -> Verdict:
    """Decide whether the grants allow the action at the scope. The reason names roles that allow it."""
    if action in FOR_EVERYONE:
        return Verdict(True, "Everyone with a valid token may do this.")
    checked = Scope() if action in INSTALLATION_WIDE else scope
    for grant in grants:
        if action in ALLOWED[grant.role] and grant.scope.covers(checked):
            return Verdict(True, f"The role {grant.role} at {grant.scope} allows it.")
    roles = ", ".join(role for role in Role if action in ALLOWED[role])
    return Verdict(False, f"{action} at {checked} requires one of the roles: {roles}.")


def missing_rights(required: Iterable[Grant], held_grants: Iterable[Grant]) -> list[str]:
    """Return the permissions of `required` that `held_grants` lack, as sorted `action at scope`."""
    held_grants = tuple(held_grants)
    return sorted(
        {
            f"{action} at {grant.scope}"
            for grant in required
            for action in ALLOWED[grant.role]
            if decide([grant], action, grant.scope).allowed
            and not decide(held_grants, action, grant.scope).allowed
        }
    )


def scopes_where(grants: Iterable[Grant], action: Action) -> list[Scope]:
    """Return the scopes at and below which the grants allow the action."""
    return [grant.scope for grant in grants if action in ALLOWED[grant.role]]
