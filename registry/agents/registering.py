"""Register agents: they do so at every start, and whenever what they offer changes."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Now

from controlplane.access import audit
from controlplane.access.actors import Actor
from controlplane.errors import NameTaken
from registry import event_types
from registry.agents.admissions import state_for
from registry.agents.admitting import Newcomer, admit, deed_of
from registry.agents.guards import guard_of
from registry.agents.liveness import LivenessPolicy
from registry.agents.registration import FACTS, Registration
from registry.agents.states import State, after_registration
from registry.agents.transitions import move
from registry.models import Agent, Lease
from registry.task_types.serving import follow_task_types


@transaction.atomic
def register(
    registration: Registration,
    *,
    actor: Actor,
    any_agent: bool,
    policy: LivenessPolicy,
) -> tuple[Agent, bool]:
    """Create the agent, or refresh it if its name is known; its lease begins.

    any_agent: the actor may also refresh what others registered. Returns the agent and whether it is new.
    Raises NameTaken for a name or a topic that is somebody else's, and what `state_for` raises.
    """
    initial = state_for(actor, registration)
    newcomer = Newcomer(registration, actor, initial)
    known = _find(registration.name)
    if known is None and admit([newcomer], policy):
        audit.record_deeds([deed_of(newcomer)])
        return Agent.objects.shown().get(id=newcomer.id), True
    # Two first registrations of one name may meet: the second refreshes what the first has made. A DCM agent
    # that gets a 4xx never asks again (environment-agents.md 2.1), so that must be none.
    agent = known or _find(registration.name)
    if agent is None:
        raise NameTaken(f"The topic {registration.topic_name!r} is another agent's.")
    _refresh(agent, registration, actor, any_agent=any_agent)
    _begin_again(agent, registration, policy)
    move(
        agent,
        after_registration(State(agent.state), initial, draining=bool(agent.drain_reason)),
        reason="Registered again.",
        actor=actor.name,
        request_id=actor.request_id,
    )
    return Agent.objects.shown().get(id=agent.id), False


def _begin_again(agent: Agent, registration: Registration, policy: LivenessPolicy) -> None:
    """A new lease, under the next number: who has the former one is a double."""
    follow_task_types(agent.id, registration.task_types)
    begun = {
        "renewed_at": Now(),
        "expires_at": Now() + policy.lease,
        "consumer_lag": 0,
        "guard_id": guard_of(agent.environment),
    }
    again = {**begun, "generation": F("generation") + 1}
    Lease.objects.update_or_create(agent=agent, defaults=again, create_defaults=begun)


def _find(name: str) -> Agent | None:
    """The lease's row first, as heartbeats and the sweep do."""
    list(Lease.objects.select_for_update(of=("self",)).filter(agent__name=name).values_list("agent_id"))
    return Agent.objects.select_for_update().filter(name=name).first()


def _refresh(agent: Agent, registration: Registration, actor: Actor, *, any_agent: bool) -> None:
    if not any_agent and agent.registered_by != actor.principal_id:
        raise NameTaken(f"The name {agent.name!r} belongs to an agent with another token.")
    before = _facts(agent)
    for name, value in registration.facts().items():
        setattr(agent, name, value)
    if _facts(agent) == before:
        return
    _save(agent, registration)
    audit.record(
        event_types.AGENT_CHANGED,
        "agent",
        str(agent.id),
        actor=actor,
        before=before,
        after=_facts(agent),
        data={"agent_id": str(agent.id), "name": agent.name, "environment": agent.environment},
    )


def _save(agent: Agent, registration: Registration) -> None:
    agent.updated_at = Now()
    try:
        with transaction.atomic():
            agent.save(force_update=True)
    except IntegrityError as error:
        raise NameTaken(
            f"The name {agent.name!r} or the topic {registration.topic_name!r} is another agent's."
        ) from error


def _facts(agent: Agent) -> dict[str, Any]:
    return {name: getattr(agent, name) for name in FACTS}
