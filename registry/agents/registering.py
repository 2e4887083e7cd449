"""Register agents: they do so at every start, and whenever what they offer changes."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Now

from controlplane.access import audit
from controlplane.access.actors import Actor
from controlplane.errors import NameTaken
from controlplane.events.types import EventType
from registry import event_types
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
    initial: State = State.READY,
) -> tuple[Agent, bool]:
    """Create the agent, or refresh it if its name is known; its lease begins.

    any_agent: the actor may also refresh what others registered. initial: ready, or registered if somebody
    has to approve it. Returns the agent and whether it is new. Raises NameTaken for a name or a topic that
    is somebody else's.
    """
    agent, created = _insert_or_find(registration, actor, initial)
    if not created:
        _refresh(agent, registration, actor, any_agent=any_agent)
    follow_task_types(agent.id, registration.task_types)
    begun = {
        "renewed_at": Now(),
        "expires_at": Now() + policy.lease,
        "consumer_lag": 0,
        "guard_id": guard_of(agent.environment),
    }
    again = {**begun, "generation": F("generation") + 1}
    Lease.objects.update_or_create(agent=agent, defaults=again, create_defaults=begun)
    move(
        agent,
        after_registration(State(agent.state), initial, draining=bool(agent.drain_reason)),
        reason="Registered again.",
        actor=actor.name,
        request_id=actor.request_id,
    )
    return Agent.objects.shown().get(id=agent.id), created


def _insert_or_find(registration: Registration, actor: Actor, initial: State) -> tuple[Agent, bool]:
    """Two first registrations of one name may meet: the second refreshes what the first has made.

    A DCM agent that gets a 4xx never asks again (environment-agents.md 2.1), so that must be none.
    """
    if known := _find(registration.name):
        return known, False
    try:
        return _insert(registration, actor, initial), True
    except NameTaken:
        if made_meanwhile := _find(registration.name):
            return made_meanwhile, False
        raise  # it is the topic that is another agent's


def _find(name: str) -> Agent | None:
    """The lease's row first, as heartbeats and the sweep do."""
    list(Lease.objects.select_for_update(of=("self",)).filter(agent__name=name).values_list("agent_id"))
    return Agent.objects.select_for_update().filter(name=name).first()


def _insert(registration: Registration, actor: Actor, initial: State) -> Agent:
    waits = initial is State.REGISTERED
    agent = Agent(
        **registration.facts(),
        state=initial.value,
        state_reason="It waits for approval." if waits else "Registered.",
        registered_by=actor.principal_id,
    )
    _save(agent, registration, insert=True)
    _record(event_types.AGENT_REGISTERED, agent, actor, before=None)
    return agent


def _refresh(agent: Agent, registration: Registration, actor: Actor, *, any_agent: bool) -> None:
    if not any_agent and agent.registered_by != actor.principal_id:
        raise NameTaken(f"The name {agent.name!r} belongs to an agent with another token.")
    before = _facts(agent)
    for name, value in registration.facts().items():
        setattr(agent, name, value)
    if _facts(agent) == before:
        return
    _save(agent, registration, insert=False)
    _record(event_types.AGENT_CHANGED, agent, actor, before=before)


def _save(agent: Agent, registration: Registration, *, insert: bool) -> None:
    agent.updated_at = Now()
    try:
        with transaction.atomic():
            agent.save(force_insert=insert, force_update=not insert)
    except IntegrityError as error:
        raise NameTaken(
            f"The name {agent.name!r} or the topic {registration.topic_name!r} is another agent's."
        ) from error


def _record(event_type: EventType, agent: Agent, actor: Actor, *, before: dict[str, Any] | None) -> None:
    audit.record(
        event_type,
        "agent",
        str(agent.id),
        actor=actor,
        before=before,
        after=_facts(agent),
        data={"agent_id": str(agent.id), "name": agent.name, "environment": agent.environment},
    )


def _facts(agent: Agent) -> dict[str, Any]:
    return {name: getattr(agent, name) for name in FACTS}
