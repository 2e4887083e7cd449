"""Credentials of agents: each agent that joined has a principal and token of its own."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models.functions import Now

from controlplane.access import audit, issue_tokens, principals, role_bindings
from controlplane.access import tokens as secrets
from controlplane.access.models import Principal, PrincipalKind, Token
from controlplane.access.role_bindings import BindingTerms
from controlplane.access.team_models import Team
from controlplane.errors import Conflict
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from controlplane.identity.roles import Role
from controlplane.ids import uuid7
from controlplane.scopes import Scope
from registry.agents.event_types import AGENT_ROTATED, AGENT_TOKENS_REVOKED
from registry.agents.models import Agent, Lease
from registry.agents.transitions import agent_facts
from registry.joining.models import SubjectAgent

# Prefix of principals that belong to one agent.
OWN_PREFIX = "agent."


@transaction.atomic
def rotate(agent: Agent, *, actor: Actor, own_token: Token | None = None) -> str:
    """Issue a new credential to the agent and revoke its old ones. Returns the secret.

    own_token: the agent's token, if it rotates itself: the new one gets the same expiry limit and issuer.
    """
    principal = require_own_principal(agent)
    if own_token is not None:
        secret = issue_tokens.renew_token(own_token, name="agent", actor=actor)
        revoke_tokens(principal, actor, except_secret=secret)
    elif renews_by_issuer(principal):
        raise Conflict(
            "This agent renews its credential with tokens of its issuer. To end that, revoke the join token"
            " with the issuer rule, or retire the agent."
        )
    else:
        revoke_tokens(principal, actor)
        secret = create_credential(principal, actor)
    _record(AGENT_ROTATED, agent, actor)
    return secret


@transaction.atomic
def revoke_all(agent: Agent, *, actor: Actor) -> list[Token]:
    """Revoke all tokens of the agent, which keeps its principal: `rotate` gives it a new one.

    Returns them. Raises Conflict.
    """
    principal = require_own_principal(agent)
    tokens = valid_tokens(principal)
    if tokens:
        revoke_tokens(principal, actor)
        _record(AGENT_TOKENS_REVOKED, agent, actor)
    return tokens


def require_own_principal(agent: Agent) -> Principal:
    """Return the principal of this agent alone. Raises Conflict if it has none, or if it is disabled."""
    principal = own_principal(agent)
    if principal is None:
        raise Conflict(
            "This agent has no credential of its own, because it registered with a shared token. Rotate that "
            "token, or let the agent join with a join token: it then gets its own."
        )
    if not principal.is_active:
        raise Conflict("This agent's credential was revoked. Let the agent join again.")
    return principal


def valid_tokens(principal: Principal) -> list[Token]:
    """Return the principal's tokens that still work, newest first."""
    rows = Token.objects.filter(principal=principal, revoked_at=None)
    return list(rows.exclude(expires_at__lte=Now()).order_by("-created_at", "-id"))


def renews_by_issuer(principal: Principal) -> bool:
    """True if the agent gets its tokens for tokens of its issuer, and so a new one at any time."""
    return SubjectAgent.objects.filter(principal_id=principal.id).exists()


def own_principal(agent: Agent) -> Principal | None:
    """Return the principal of this agent alone; None if the agent registered with a shared token."""
    if agent.registered_by is None:
        return None
    return Principal.objects.filter(id=agent.registered_by, name__startswith=OWN_PREFIX).first()


def create_principal(actor: Actor, team: Team | None) -> Principal:
    """Create a principal, which inherits nothing from a former agent of this name.

    team: its role is limited to this team's agents.
    """
    principal = principals.create_principal(
        f"{OWN_PREFIX}{uuid7().hex}", kind=PrincipalKind.AGENT, actor=actor
    )
    terms = BindingTerms(owned_by=team)
    role_bindings.bind_role(principal, Role.AGENT, Scope(), actor=actor, terms=terms)
    return principal


def replace_credential(agent: Agent, principal: Principal, actor: Actor) -> None:
    """Make this the agent's principal, and disable the former one. Raises Conflict if its owner changed."""
    former_principal = own_principal(agent)
    if former_principal is not None:
        principals.set_active(former_principal.name, is_active=False, actor=actor)
    # A takeover needs no agreement of the process that holds the name.
    Lease.objects.filter(agent=agent).update(instance_uuid=None)
    same_owner = Agent.objects.filter(id=agent.id, team=agent.team)
    if not same_owner.update(registered_by=principal.id):
        raise Conflict("The agent of this name was transferred or removed at the same time. Join again.")
    _record(AGENT_ROTATED, agent, actor)


def create_credential(principal: Principal, actor: Actor, expires_at: datetime | None = None) -> str:
    """Issue a token, which never expires by default. Returns its secret."""
    _, secret = principals.create_token(principal, name="agent", expires_at=expires_at, actor=actor)
    return secret


def revoke_tokens(principal: Principal, actor: Actor, except_secret: str = "") -> None:
    """Revoke the principal's tokens, except the one with this secret."""
    tokens = Token.objects.filter(principal=principal, revoked_at=None)
    for token in tokens.exclude(digest=secrets.digest(except_secret)):
        issue_tokens.revoke_token(token.id, of=None, actor=actor)


def _record(event_type: EventType, agent: Agent, actor: Actor) -> None:
    audit.record(
        event_type,
        "agent",
        str(agent.id),
        actor=actor,
        before=None,
        after=None,
        data=agent_facts(agent),
        team_id=agent.team_id,
    )
