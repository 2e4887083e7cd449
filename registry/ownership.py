"""Transfer agents between teams, and between a team and the platform."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from django.db import transaction

from controlplane.access import audit, role_bindings
from controlplane.access.audit import Mutation
from controlplane.access.models import RoleBinding
from controlplane.access.role_bindings import BindingTerms
from controlplane.access.team_models import Team
from controlplane.access.teams.owning_team import choose_team
from controlplane.errors import Conflict
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action, Role
from controlplane.scopes import Scope
from registry.agents.event_types import AGENT_GIVEN_AWAY, AGENT_TAKEN_OVER
from registry.agents.lookup import get_agent, lock_agent
from registry.agents.models import Agent
from registry.agents.transitions import agent_facts
from registry.dispatch.agent_work import check_may_serve
from registry.joining.credentials import own_principal

Owner = Mapping[str, str | None]


@transaction.atomic
def transfer(agent_id: UUID, slug: str | None, *, caller: Caller, actor: Actor) -> Agent:
    """Make a team the agent's owner; None: the platform. Its own credential is then limited to that owner.

    The caller must be allowed to write the agents of both. Raises UnknownAgent, UnknownTeam,
    PermissionDenied, Conflict, StillInUse.
    """
    agent = get_agent(caller, agent_id)
    caller.require(Action.AGENT_WRITE, owner=agent.team_id)
    team = _new_owner(caller, slug)
    if agent.team == team:
        return agent
    # Before the lease is locked: in the order of permits.
    _limit_credential(agent, team, actor)
    locked_agent = lock_agent(caller, agent_id, Action.AGENT_WRITE)
    if (locked_agent.team_id, locked_agent.registered_by) != (agent.team_id, agent.registered_by):
        raise Conflict("The agent was changed at the same time. Repeat the request.")
    check_may_serve(agent_id, team)
    _store(agent, team, actor)
    return Agent.objects.shown().get(id=agent_id)


def _new_owner(caller: Caller, slug: str | None) -> Team | None:
    if slug is None:
        caller.require(Action.AGENT_WRITE)
        return None
    return choose_team(caller.owners_for(Action.AGENT_WRITE), slug)


def _limit_credential(agent: Agent, team: Team | None, actor: Actor) -> None:
    """Limit the role of the agent's own credential, if it has one, to the agents of its new owner."""
    principal = own_principal(agent)
    if principal is None:
        return
    terms = BindingTerms(owned_by=team)
    bindings = RoleBinding.objects.filter(principal=principal, role=Role.AGENT.value, owned_by=agent.team)
    for binding in bindings.order_by("id"):
        role_bindings.unbind_role(binding.id, actor=actor)
        role_bindings.bind_role(principal, Role.AGENT, Scope(), actor=actor, terms=terms)


def _store(agent: Agent, team: Team | None, actor: Actor) -> None:
    former_team = agent.team
    Agent.objects.filter(id=agent.id).update(team=team)
    # Each team's auditors learn of their side alone.
    sides = [
        _mutation(AGENT_GIVEN_AWAY, agent, former_team, before=_owner(former_team), after={}),
        _mutation(AGENT_TAKEN_OVER, agent, team, before={}, after=_owner(team)),
    ]
    audit.record_many("agent", sides, actor=actor)


def _mutation(
    event_type: EventType, agent: Agent, team: Team | None, *, before: Owner, after: Owner
) -> Mutation:
    team_id = team.id if team else None
    return Mutation(event_type, str(agent.id), before, after, agent_facts(agent), team_id=team_id)


def _owner(team: Team | None) -> Owner:
    return {"team": team.slug if team else None}
