"""Roles and the actions they allow. Pure: who may do what is one table, which docs and tests print."""

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
    """What a request wants to do. The words are part of the API (`POST /api/v1/me:can-i`)."""

    SELF_READ = "self.read"
    SELF_WRITE = "self.write"
    OVERRIDE_READ = "override.read"
    OVERRIDE_WRITE = "override.write"
    # Take values from the manager that owns them.
    OVERRIDE_FORCE = "override.force"
    TYPE_WRITE = "type.write"
    RAIL_WRITE = "rail.write"
    PROJECT_READ = "project.read"
    PROJECT_WRITE = "project.write"
    AGENT_READ = "agent.read"
    AGENT_REGISTER = "agent.register"
    # With a join token, which says itself whom it lets in.
    AGENT_JOIN = "agent.join"
    AGENT_HEARTBEAT = "agent.heartbeat"
    AGENT_WRITE = "agent.write"
    AGENT_CONFIG_READ = "agent_config.read"
    # Publish for teams that name the caller among their publishers.
    AGENT_CONFIG_PUBLISH = "agent_config.publish"
    # Publish for every team; grants, data planes, approvals.
    AGENT_CONFIG_RULE = "agent_config.rule"
    # Ask as Kubernetes' admission webhook whether a document would be accepted.
    AGENT_CONFIG_ADMIT = "agent_config.admit"
    # Read a data plane's configuration and say how it went, as that data plane.
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
        # Webhooks that were set up before there was a role for them are viewers.
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

# What everybody with a valid token may do, whatever their roles.
FOR_EVERYONE = frozenset({Action.SELF_READ, Action.SELF_WRITE, Action.AGENT_JOIN})

# What is not below any project or domain: a role counts only if it is bound to everything.
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
    """A role, and the scope that it is bound to; `Scope()` is everything."""

    role: Role
    scope: Scope


@dataclass(frozen=True, slots=True)
class Verdict:
    allowed: bool
    reason: str


def decide(grants: Iterable[Grant], action: Action, scope: Scope) -> Verdict:
    """Say whether these grants allow the action at the scope, and which one does or what is missing."""
    if action in FOR_EVERYONE:
        return Verdict(True, "Everyone with a valid token may.")
    place = Scope() if action in INSTALLATION_WIDE else scope
    for grant in grants:
        if action in ALLOWED[grant.role] and grant.scope.covers(place):
            return Verdict(True, f"The role {grant.role} at {grant.scope} allows it.")
    wanted = ", ".join(role for role in Role if action in ALLOWED[role])
    return Verdict(False, f"{action} at {place} needs one of the roles: {wanted}.")


def missing_rights(wanted: Iterable[Grant], held: Iterable[Grant]) -> list[str]:
    """Return what the wanted grants allow and the held ones do not, as `action at scope`, in order."""
    held = tuple(held)
    return sorted(
        {
            f"{action} at {grant.scope}"
            for grant in wanted
            for action in ALLOWED[grant.role]
            if decide([grant], action, grant.scope).allowed and not decide(held, action, grant.scope).allowed
        }
    )


def scopes_where(grants: Iterable[Grant], action: Action) -> list[Scope]:
    """The scopes below which the grants allow the action: what a list may show."""
    return [grant.scope for grant in grants if action in ALLOWED[grant.role]]
