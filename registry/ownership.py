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
from registry.joining.credentials import own_principal
from registry.joining.owning_team import choose_team

Owner = Mapping[str, str | None]


@transaction.atomic
def transfer(agent_id: UUID, slug: str | None, *, caller: Caller, actor: Actor) -> Agent:
    """Make a team the agent's owner; None: the platform. Its own credential is then limited to that owner.

    The caller must be allowed to write the agents of both. Raises UnknownAgent, UnknownTeam,
    PermissionDenied, Conflict.
    """
    bindings = _lock_bindings(get_agent(caller, agent_id))
    agent = lock_agent(caller, agent_id, Action.AGENT_WRITE)
    if any(binding.principal_id != agent.registered_by for binding in bindings):
        raise Conflict("The agent got a new credential at the same time. Repeat the request.")
    team = _new_owner(caller, slug)
    if agent.team != team:
        _store(agent, team, bindings, actor)
    return Agent.objects.shown().get(id=agent_id)


def _lock_bindings(agent: Agent) -> list[RoleBinding]:
    """Lock the roles of the agent's own credential, before the lease: in the order of permits."""
    principal = own_principal(agent)
    rows = RoleBinding.objects.select_for_update(of=("self",)).select_related("principal")
    return list(rows.filter(principal=principal, role=Role.AGENT.value).order_by("id")) if principal else []


def _new_owner(caller: Caller, slug: str | None) -> Team | None:
    if slug is None:
        caller.require(Action.AGENT_WRITE)
        return None
    return choose_team(caller.owners_for(Action.AGENT_WRITE), slug)


def _store(agent: Agent, team: Team | None, bindings: list[RoleBinding], actor: Actor) -> None:
    former_team = agent.team
    Agent.objects.filter(id=agent.id).update(team=team)
    for binding in bindings:
        _limit_to(binding, team, actor)
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


def _limit_to(binding: RoleBinding, team: Team | None, actor: Actor) -> None:
    assert binding.principal is not None  # locked by its principal
    role_bindings.unbind_role(binding.id, actor=actor)
    terms = BindingTerms(owned_by=team)
    role_bindings.bind_role(binding.principal, Role.AGENT, Scope(), actor=actor, terms=terms)


def _owner(team: Team | None) -> Owner:
    return {"team": team.slug if team else None}
