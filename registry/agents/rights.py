"""Whose agents a principal may act for: register again, send heartbeats, drain, change providers. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from controlplane.identity.callers import Caller
from controlplane.identity.grants import Owners
from controlplane.identity.roles import Action

_EVERYTHING = Owners(True, frozenset())
_NOTHING = Owners(False, frozenset())


class OwnedAgent(Protocol):
    """An agent, or its columns that decide who may act for it."""

    @property
    def team_id(self) -> UUID | None: ...

    @property
    def registered_by(self) -> UUID | None: ...


@dataclass(frozen=True, slots=True)
class AgentRights:
    """The rights of a principal. principal_id: None for a request without a token.

    own: the owners for whose agents it may act if it registered them. every: also if others did.
    readable: the owners whose agents exist for it.
    """

    principal_id: UUID | None
    own: Owners = _EVERYTHING
    every: Owners = _NOTHING
    readable: Owners = _EVERYTHING

    def allow(self, agent: OwnedAgent) -> bool:
        """True if the principal may act for the agent."""
        if self.every.include(agent.team_id):
            return True
        is_own = agent.registered_by == self.principal_id and not self._lacks_token_for(agent)
        return is_own and self.own.include(agent.team_id)

    def show(self, agent: OwnedAgent) -> bool:
        """True if the agent exists for the principal."""
        is_readable = self.readable.include(agent.team_id) and not self._lacks_token_for(agent)
        return is_readable or self.allow(agent)

    def _lacks_token_for(self, agent: OwnedAgent) -> bool:
        """Agents of a team need a token."""
        return self.principal_id is None and agent.team_id is not None


# Of the control plane itself.
ANY_AGENT = AgentRights(None, every=_EVERYTHING)


def agent_rights(caller: Caller, action: Action) -> AgentRights:
    """Return the caller's rights to perform the action on agents."""
    own = caller.owners_for(action)
    every = _in_both(own, caller.owners_for(Action.AGENT_WRITE))
    return AgentRights(caller.principal_id, own, every, caller.owners_for(Action.AGENT_READ))


def _in_both(one: Owners, other: Owners) -> Owners:
    if one.everything or other.everything:
        return other if one.everything else one
    return Owners(False, one.team_ids & other.team_ids)
