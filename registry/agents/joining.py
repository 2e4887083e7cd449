"""Join: an agent without a credential shows a join token and gets one of its own, bound to its name."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from controlplane.access import audit, principals
from controlplane.access.actors import Actor
from controlplane.access.models import Principal, PrincipalKind, Token
from controlplane.access.roles import Role
from controlplane.errors import NameTaken
from controlplane.ids import uuid7
from controlplane.scopes import Scope
from registry import event_types
from registry.agents.invitations import Invitation
from registry.agents.join_tokens import use
from registry.agents.liveness import LivenessPolicy
from registry.agents.registering import register
from registry.agents.registration import Registration
from registry.agents.states import State
from registry.models import Agent, JoinToken


@dataclass(frozen=True, slots=True)
class Joined:
    """secret: the agent's own token, told now and never again."""

    agent: Agent
    secret: str
    created: bool


@transaction.atomic
def join(token: JoinToken, registration: Registration, *, request_id: str, policy: LivenessPolicy) -> Joined:
    """Let the agent in. Raises InvalidRequest, NotAuthenticated, NameTaken."""
    invitation = Invitation(token.name_pattern, token.environment, frozenset(token.service_types))
    invitation.check(registration)
    use(token)
    actor = Actor(None, f"join token {token.name}"[:63], request_id)
    known = Agent.objects.filter(name=registration.name).first()
    if known is not None and not token.may_take_over:
        raise NameTaken(
            f"There is an agent {registration.name!r} already. If it is to be replaced, ask for a join token "
            "with may_take_over."
        )
    principal = _new_principal(actor)
    if known is not None:
        _hand_over(known, principal, actor)
    secret = _new_credential(principal, actor)
    agent, created = register(
        registration,
        actor=Actor(principal.id, principal.name, request_id),
        any_agent=False,
        policy=policy,
        initial=State.REGISTERED if token.needs_approval else State.READY,
    )
    return Joined(agent, secret, created)


@transaction.atomic
def rotate(agent: Agent, *, actor: Actor) -> str:
    """Give the agent a new credential; its old ones end now. Returns the secret."""
    principal = own_principal(agent)
    if principal is None:
        raise NameTaken("This agent has no credential of its own: it registered with a shared token.")
    _revoke_all(principal, actor)
    secret = _new_credential(principal, actor)
    _note(agent, actor)
    return secret


# Principals that stand for one agent.
OWN_PREFIX = "agent."


def own_principal(agent: Agent) -> Principal | None:
    """The principal that stands for this agent alone; None for one that registered with a shared token."""
    if agent.registered_by is None:
        return None
    return Principal.objects.filter(id=agent.registered_by, name__startswith=OWN_PREFIX).first()


def _new_principal(actor: Actor) -> Principal:
    """A new one each time: what the former holder of the name has is not inherited."""
    principal = principals.create_principal(
        f"{OWN_PREFIX}{uuid7().hex}", kind=PrincipalKind.AGENT, actor=actor
    )
    principals.bind_role(principal, Role.AGENT, Scope(), actor=actor)
    return principal


def _hand_over(agent: Agent, principal: Principal, actor: Actor) -> None:
    former = own_principal(agent)
    if former is not None:
        principals.set_active(former.name, is_active=False, actor=actor)
    Agent.objects.filter(id=agent.id).update(registered_by=principal.id)
    _note(agent, actor)


def _new_credential(principal: Principal, actor: Actor) -> str:
    _, secret = principals.create_token(principal, name="agent", expires_at=None, actor=actor)
    return secret


def _revoke_all(principal: Principal, actor: Actor) -> None:
    for token in Token.objects.filter(principal=principal, revoked_at=None):
        principals.revoke_token(token.id, of=None, actor=actor)


def _note(agent: Agent, actor: Actor) -> None:
    audit.record(
        event_types.AGENT_ROTATED,
        "agent",
        str(agent.id),
        actor=actor,
        before=None,
        after=None,
        data={"agent_id": str(agent.id), "name": agent.name, "environment": agent.environment},
    )
