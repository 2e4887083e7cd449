"""Look up agents for a caller. Another team's agent does not exist for the caller."""

from __future__ import annotations

from uuid import UUID

from django.db.models import QuerySet

from controlplane.errors import UnknownAgent
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agents.models import Agent, Lease
from registry.agents.rights import agent_rights


def get_agent(caller: Caller, agent_id: UUID) -> Agent:
    """Return the agent as `shown`, if the caller may read it. Raises UnknownAgent."""
    return _first(Agent.objects.shown().within(caller), agent_id)


def require_agent(caller: Caller, agent_id: UUID) -> None:
    """Raise UnknownAgent unless the caller may read the agent."""
    if not Agent.objects.within(caller).filter(id=agent_id).exists():
        raise unknown_agent(agent_id)


def lock_agent(caller: Caller, agent_id: UUID, action: Action) -> Agent:
    """Lock the agent, and check that the caller may perform the action on it. Needs a transaction.

    Raises UnknownAgent, PermissionDenied.
    """
    agent = _lock(agent_id)
    if not agent_rights(caller, action).show(agent):
        raise unknown_agent(agent_id)
    caller.require(action, owner=agent.team_id)
    return agent


def lock_own_agent(caller: Caller, agent_id: UUID) -> Agent:
    """Lock an agent that the caller registered, or may write. Needs a transaction.

    Raises UnknownAgent, PermissionDenied.
    """
    return _check_own(caller, _lock(agent_id))


def get_own_agent(caller: Caller, agent_id: UUID) -> Agent:
    """Return an agent that the caller registered, or may write, as `shown`.

    For changes of its credential, which lock that before the lease. Raises UnknownAgent, PermissionDenied.
    """
    return _check_own(caller, _first(Agent.objects.shown(), agent_id))


def _check_own(caller: Caller, agent: Agent) -> Agent:
    rights = agent_rights(caller, Action.AGENT_HEARTBEAT)
    if not rights.show(agent):
        raise unknown_agent(agent.id)
    if not rights.allow(agent):
        caller.require(Action.AGENT_HEARTBEAT, owner=agent.team_id)
        caller.require(Action.AGENT_WRITE, owner=agent.team_id)
    return agent


def unknown_agent(agent_id: UUID) -> UnknownAgent:
    return UnknownAgent(f"There is no agent {agent_id}.")


def _lock(agent_id: UUID) -> Agent:
    """Lock the lease first, as heartbeats and the sweep do."""
    list(Lease.objects.select_for_update(of=("self",)).filter(agent_id=agent_id).values_list("agent_id"))
    return _first(Agent.objects.select_for_update(), agent_id)


def _first(agents: QuerySet[Agent], agent_id: UUID) -> Agent:
    agent = agents.filter(id=agent_id).first()
    if agent is None:
        raise unknown_agent(agent_id)
    return agent
