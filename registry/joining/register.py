"""Register agents, which happens at every start of an agent and when its capabilities change."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Now

from controlplane.access import audit
from controlplane.errors import Conflict, NameTaken
from controlplane.identity.actors import Actor
from registry.agents.event_types import AGENT_CHANGED
from registry.agents.liveness import LivenessPolicy
from registry.agents.models import Agent, Lease
from registry.agents.rights import AgentRights
from registry.agents.states import State, after_registration
from registry.agents.transitions import agent_facts, move, record_change
from registry.dispatch.agent_work import look_again_at
from registry.environments.guarding import environment_id_of
from registry.environments.models import Environment
from registry.joining.granted_terms import initial_state
from registry.joining.insert import NewAgent, audit_entry, insert_agents
from registry.joining.name_conflicts import holder_of, refusal
from registry.joining.registration import FACTS, Registration
from registry.task_types.served import store_task_types


@transaction.atomic
def register(
    registration: Registration,
    *,
    actor: Actor,
    rights: AgentRights,
    policy: LivenessPolicy,
    dcm: bool = False,
    team_id: UUID | None = None,
) -> tuple[Agent, bool]:
    """Create the agent, or update it if its name exists, and start its lease.

    rights: for which existing agents. team_id: the owner of a new agent. Returns the agent and whether it is
    new.

    Raises NameTaken for a name or a topic of another agent, DuplicateInstance while another process holds
    the name, and the errors of `initial_state`.

    dcm: a DCM agent, which registers at every start and never deregisters. Its restart does not undo its
    retirement by an operator (Conflict), and with a token it may claim a record without an owner: its own
    from before it had a token.
    """
    first_state = initial_state(actor, registration)
    new_agent = NewAgent(registration, actor, first_state, team_id=team_id)
    existing_agent = _lock_agent(registration.name)
    if existing_agent is None and insert_agents([new_agent], policy):
        audit.record_entries([audit_entry(new_agent)])
        return Agent.objects.shown().get(id=new_agent.id), True
    # Of two concurrent first registrations of one name the second updates the agent that the first created.
    # A DCM agent never retries after a 4xx (environment-agents.md 2.1), so this must not be an error.
    agent = existing_agent or _lock_agent(registration.name)
    if agent is None:
        raise NameTaken(
            f"The topic {registration.topic_name!r} belongs to another agent. Choose another topic."
        )
    if dcm:
        _check_shown(agent, rights)
        _check_dismissed(agent)
        _claim_unowned(agent, actor, rights)
    _check_allowed(agent, rights)
    _check_instance(agent, registration, policy)
    _update_facts(agent, registration, actor)
    _start_lease(agent, registration, policy)
    Agent.objects.filter(id=agent.id, dismissed=True).update(dismissed=False)
    if agent.state == State.RETIRED:
        look_again_at(agent.id)
    move(
        agent,
        after_registration(State(agent.state), first_state, draining=bool(agent.drain_reason)),
        reason="Registered again.",
        actor=actor.name,
        request_id=actor.request_id,
    )
    return Agent.objects.shown().get(id=agent.id), False


def _start_lease(agent: Agent, registration: Registration, policy: LivenessPolicy) -> None:
    """Start a lease of the next generation: a process with the former generation is a duplicate."""
    store_task_types(agent.id, registration.task_types)
    environment_id = environment_id_of(agent.environment)
    new_lease = {
        "renewed_at": Now(),
        "expires_at": Now() + policy.granted(_set_seconds(agent, environment_id)),
        "consumer_lag": 0,
        "environment_id": environment_id,
        "instance_uuid": registration.instance_uuid,
        "rival_uuid": None,
        "rival_since": None,
        "rival_announced": False,
    }
    next_lease = {**new_lease, "generation": F("generation") + 1}
    Lease.objects.update_or_create(agent=agent, defaults=next_lease, create_defaults=new_lease)


def _set_seconds(agent: Agent, environment_id: int) -> int | None:
    """Return the lease length set for the agent, or for the environment in which it registers."""
    agent_seconds = Lease.objects.filter(agent=agent).values_list("lease_seconds", flat=True).first()
    if agent_seconds is not None:
        return agent_seconds
    return Environment.objects.values_list("lease_seconds", flat=True).get(id=environment_id)


def _lock_agent(name: str) -> Agent | None:
    """Lock and return the agent, after its lease: in the order of heartbeats and the sweep."""
    if not _lock_lease(name):
        if not Agent.objects.filter(name=name).exists():
            return None
        # Registered between the two statements. Locked before its lease, it would deadlock with others.
        _lock_lease(name)
    return Agent.objects.select_for_update().filter(name=name).first()


def _lock_lease(name: str) -> bool:
    """Lock the lease of the agent with this name; False if there is none."""
    leases = Lease.objects.select_for_update(of=("self",)).filter(agent__name=name)
    return bool(list(leases.values_list("agent_id")))


def _check_allowed(agent: Agent, rights: AgentRights) -> None:
    if not rights.allow(agent):
        raise _belongs_to_another(agent)


def _check_shown(agent: Agent, rights: AgentRights) -> None:
    """Of another team's agent, only that it has the name may be known."""
    if not rights.show(agent):
        raise _belongs_to_another(agent)


def _belongs_to_another(agent: Agent) -> NameTaken:
    return NameTaken(f"The name {agent.name!r} belongs to an agent with another token. Choose another name.")


def _check_dismissed(agent: Agent) -> None:
    if agent.state == State.RETIRED and agent.dismissed:
        raise Conflict("An operator retired this agent. Remove its record to let it register again.")


def _claim_unowned(agent: Agent, actor: Actor, rights: AgentRights) -> None:
    is_in_reach = rights.own.include(agent.team_id)
    if agent.registered_by is not None or actor.principal_id is None or not is_in_reach:
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
        data=agent_facts(agent),
        team_id=agent.team_id,
    )


def _check_instance(agent: Agent, registration: Registration, policy: LivenessPolicy) -> None:
    """Raise DuplicateInstance if another process sends heartbeats under this name, unless it is retired."""
    lease = Lease.objects.select_related("environment").annotate(now=Now()).filter(agent=agent).first()
    instance = registration.instance_uuid
    if lease is None or instance is None or agent.state == State.RETIRED:
        return
    holder, now = holder_of(lease, policy), lease.now
    if holder.is_other(instance) and holder.holds_for(now):
        raise refusal(lease, instance, policy, now)


def _update_facts(agent: Agent, registration: Registration, actor: Actor) -> None:
    before = _facts(agent)
    for name, value in registration.facts().items():
        setattr(agent, name, value)
    if _facts(agent) == before:
        return
    _save_facts(agent, registration)
    record_change(agent, before=before, after=_facts(agent), actor=actor)


def _save_facts(agent: Agent, registration: Registration) -> None:
    agent.updated_at = Now()
    try:
        with transaction.atomic():
            agent.save(force_update=True)
    except IntegrityError as error:
        raise NameTaken(
            f"The name {agent.name!r} or the topic {registration.topic_name!r} belongs to another agent."
        ) from error


def _facts(agent: Agent) -> dict[str, Any]:
    return {name: getattr(agent, name) for name in FACTS}
