"""Register agents: they do so at every start, and whenever what they offer changes."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Now

from controlplane.access import audit
from controlplane.errors import Conflict, NameTaken
from controlplane.identity.actors import Actor
from registry.agents.event_types import AGENT_CHANGED
from registry.agents.liveness import LivenessPolicy
from registry.agents.models import Agent, Lease
from registry.agents.states import State, after_registration
from registry.agents.transitions import move
from registry.environments.guarding import environment_id_of
from registry.environments.models import Environment
from registry.joining.granted_terms import state_for
from registry.joining.insert import Newcomer, admit, audit_entry
from registry.joining.name_conflicts import holder_of, refusal
from registry.joining.registration import FACTS, Registration
from registry.task_types.served import store_task_types


@transaction.atomic
def register(
    registration: Registration,
    *,
    actor: Actor,
    any_agent: bool,
    policy: LivenessPolicy,
    dcm: bool = False,
) -> tuple[Agent, bool]:
    """Create the agent, or refresh it if its name is known; its lease begins.

    any_agent: the actor may also refresh what others registered. Returns the agent and whether it is new.
    Raises NameTaken for a name or a topic that is somebody else's, DuplicateInstance while another process
    holds the name, and what `state_for` raises.

    dcm: a DCM agent, which registers at every start and knows no goodbye. So its restart does not undo its
    retirement by an operator (Conflict); and with a token it may take a record that nobody owns, its own of
    before.
    """
    initial = state_for(actor, registration)
    newcomer = Newcomer(registration, actor, initial)
    known = _find(registration.name)
    if known is None and admit([newcomer], policy):
        audit.record_entries([audit_entry(newcomer)])
        return Agent.objects.shown().get(id=newcomer.id), True
    # Two first registrations of one name may meet: the second refreshes what the first has made. A DCM agent
    # that gets a 4xx never asks again (environment-agents.md 2.1), so that must be none.
    agent = known or _find(registration.name)
    if agent is None:
        raise NameTaken(f"The topic {registration.topic_name!r} is another agent's.")
    if dcm:
        _check_dismissed(agent)
        _adopt(agent, actor)
    _check_owner(agent, actor, any_agent=any_agent)
    _check_instance(agent, registration, policy)
    _refresh(agent, registration, actor)
    _begin_again(agent, registration, policy)
    Agent.objects.filter(id=agent.id, dismissed=True).update(dismissed=False)
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
    store_task_types(agent.id, registration.task_types)
    environment_id = environment_id_of(agent.environment)
    begun = {
        "renewed_at": Now(),
        "expires_at": Now() + policy.granted(_set_seconds(agent, environment_id)),
        "consumer_lag": 0,
        "environment_id": environment_id,
        "instance_uuid": registration.instance_uuid,
        "rival_uuid": None,
        "rival_since": None,
        "rival_announced": False,
    }
    again = {**begun, "generation": F("generation") + 1}
    Lease.objects.update_or_create(agent=agent, defaults=again, create_defaults=begun)


def _set_seconds(agent: Agent, environment_id: int) -> int | None:
    """The lease that is set for the agent, or for the environment that it registers in."""
    own = Lease.objects.filter(agent=agent).values_list("lease_seconds", flat=True).first()
    if own is not None:
        return own
    return Environment.objects.values_list("lease_seconds", flat=True).get(id=environment_id)


def _find(name: str) -> Agent | None:
    """The lease's row first, as heartbeats and the sweep do."""
    list(Lease.objects.select_for_update(of=("self",)).filter(agent__name=name).values_list("agent_id"))
    return Agent.objects.select_for_update().filter(name=name).first()


def _check_owner(agent: Agent, actor: Actor, *, any_agent: bool) -> None:
    if not any_agent and agent.registered_by != actor.principal_id:
        raise NameTaken(f"The name {agent.name!r} belongs to an agent with another token.")


def _check_dismissed(agent: Agent) -> None:
    if agent.state == State.RETIRED and agent.dismissed:
        raise Conflict("An operator retired this agent. Remove its record, then it can register again.")


def _adopt(agent: Agent, actor: Actor) -> None:
    if agent.registered_by is not None or actor.principal_id is None:
        return
    agent.registered_by = actor.principal_id
    Agent.objects.filter(id=agent.id).update(registered_by=actor.principal_id)
    audit.record(
        AGENT_CHANGED,
        "agent",
        str(agent.id),
        actor=actor,
        before={"registered_by": None},
        after={"registered_by": str(actor.principal_id)},
        data={"agent_id": str(agent.id), "name": agent.name, "environment": agent.environment},
    )


def _check_instance(agent: Agent, registration: Registration, policy: LivenessPolicy) -> None:
    """Of two processes the one that beats keeps the name. One that has left holds nothing."""
    lease = Lease.objects.select_related("environment").annotate(now=Now()).filter(agent=agent).first()
    instance = registration.instance_uuid
    if lease is None or instance is None or agent.state == State.RETIRED:
        return
    holder, now = holder_of(lease, policy), lease.now
    if holder.is_other(instance) and holder.holds_for(now):
        raise refusal(lease, instance, policy, now)


def _refresh(agent: Agent, registration: Registration, actor: Actor) -> None:
    before = _facts(agent)
    for name, value in registration.facts().items():
        setattr(agent, name, value)
    if _facts(agent) == before:
        return
    _save(agent, registration)
    audit.record(
        AGENT_CHANGED,
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
