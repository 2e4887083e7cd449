"""What operators and agents do with an agent's life: approve, drain, resume, say goodbye, retire, remove."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from controlplane.access import audit
from controlplane.access.principals import set_active
from controlplane.errors import Conflict, FieldError, InvalidRequest, StillInUse, UnknownAgent
from controlplane.identity.actors import Actor, system
from registry.agents.event_types import AGENT_CHANGED, AGENT_REMOVED
from registry.agents.models import Agent, Lease
from registry.agents.states import LIVE, State
from registry.agents.transitions import move
from registry.joining.granted_terms import note_approval
from registry.joining.join import own_principal

_SWEEPER = system("sweep")
_AT_ONCE = 500
_LATELY = timedelta(hours=1)


@transaction.atomic
def approve(agent_id: UUID, *, actor: Actor) -> Agent:
    """Let an agent work that joined with a token that wants approval. Raises UnknownAgent, Conflict."""
    agent = _locked(agent_id)
    if agent.state != State.REGISTERED:
        raise Conflict(f"This agent is {agent.state}: it does not wait for approval.")
    note_approval(agent.registered_by)
    wanted = State.DRAINING if agent.drain_reason else State.READY
    return _moved(agent, wanted, actor.reason or f"Approved by {actor.name}.", actor)


@transaction.atomic
def drain(agent_id: UUID, *, reason: str, until: datetime | None, actor: Actor) -> Agent:
    """Give the agent no more work, for now or until a time. Raises Conflict, InvalidRequest."""
    agent = _locked(agent_id)
    if until is not None and until <= timezone.now():
        message = "This time is over. Give one that is still to come, or none."
        raise InvalidRequest(message, errors=[FieldError("/until", "over", message)])
    if agent.state == State.RETIRED:
        raise Conflict("This agent has left; there is nothing to drain.")
    before = _wish(agent)
    agent.drain_reason, agent.drain_until = reason, until
    agent.save(update_fields=["drain_reason", "drain_until"])
    if agent.state in LIVE:
        move(agent, State.DRAINING, reason=reason, actor=actor.name, request_id=actor.request_id)
    _record(agent, actor, before)
    return _shown(agent_id)


@transaction.atomic
def resume(agent_id: UUID, *, actor: Actor) -> Agent:
    """Take the wish to drain away. Once more changes nothing."""
    agent = _locked(agent_id)
    if not agent.drain_reason:
        return _shown(agent_id)
    before = _wish(agent)
    _undrain(agent, _short(actor.reason or f"Resumed by {actor.name}."), actor)
    _record(agent, actor, before)
    return _shown(agent_id)


@transaction.atomic
def deregister(agent_id: UUID, *, actor: Actor) -> Agent:
    """The agent leaves in good order. It may register again, with the credential that it has."""
    Agent.objects.filter(id=agent_id, dismissed=True).update(dismissed=False)
    return _moved(_locked(agent_id), State.RETIRED, actor.reason or "It said goodbye.", actor)


@transaction.atomic
def retire(agent_id: UUID, *, actor: Actor) -> Agent:
    """Send the agent away: its credential ends now. A DCM agent has none: its restart is refused instead."""
    agent = _locked(agent_id)
    Agent.objects.filter(id=agent.id).update(dismissed=True)
    principal = own_principal(agent)
    if principal is not None:
        set_active(principal.name, is_active=False, actor=actor)
    return _moved(agent, State.RETIRED, actor.reason or f"Retired by {actor.name}.", actor)


@transaction.atomic
def remove(agent_id: UUID, *, force: bool, actor: Actor) -> None:
    """Delete the record. Only of an agent that has left, unless it is forced. Raises StillInUse."""
    agent = _locked(agent_id)
    if agent.state != State.RETIRED and not force:
        raise StillInUse(f"This agent is {agent.state}. Retire it first, or remove it with force=true.")
    _forget(agent, actor)


def end_drains() -> int:
    """Drains whose time has come are over. Returns how many."""
    return _each(Agent.objects.filter(drain_until__lte=Now()), _end_drain)


def collect_garbage(*, retire_after: timedelta, remove_after: timedelta) -> tuple[int, int]:
    """Retire who was silent for long, and remove who left long ago. Returns how many of each.

    An agent that beats is never touched, whatever its state: it may not know how to register again.
    """
    retired = _each(_silent(State.UNAVAILABLE, retire_after), _retire_silent)
    if _anybody_is_heard():
        # Its guard waits for an operator, who may never come.
        retired += _each(_silent(State.UNKNOWN, retire_after), _retire_silent)
    return retired, _each(_silent(State.RETIRED, remove_after), lambda agent: _forget(agent, _SWEEPER))


def _anybody_is_heard() -> bool:
    return Lease.objects.filter(renewed_at__gt=Now() - _LATELY).exists()


def _silent(state: State, age: timedelta) -> QuerySet[Agent]:
    since = Now() - age
    return Agent.objects.filter(state=state.value, state_since__lt=since, lease__renewed_at__lt=since)


def _each(chosen: QuerySet[Agent], act: Callable[[Agent], None]) -> int:
    done = 0
    for agent_id in chosen.values_list("id", flat=True)[:_AT_ONCE]:
        with transaction.atomic():
            agent = _lock(agent_id)
            # Meanwhile it may have been removed, or have beaten.
            if agent is not None and chosen.filter(id=agent_id).exists():
                act(agent)
                done += 1
    return done


def _end_drain(agent: Agent) -> None:
    _undrain(agent, "The time of its drain is over.", _SWEEPER)


def _retire_silent(agent: Agent) -> None:
    Agent.objects.filter(id=agent.id).update(retired_for_silence=True)
    move(agent, State.RETIRED, reason="It has been silent for too long.", actor=_SWEEPER.name)


def _forget(agent: Agent, actor: Actor) -> None:
    data = {"agent_id": str(agent.id), "name": agent.name, "environment": agent.environment}
    before = {**data, "state": agent.state}
    agent.delete()
    audit.record(
        AGENT_REMOVED,
        "agent",
        data["agent_id"],
        actor=actor,
        before=before,
        after=None,
        data=data,
    )


def _undrain(agent: Agent, reason: str, actor: Actor) -> None:
    agent.drain_reason, agent.drain_until = "", None
    agent.save(update_fields=["drain_reason", "drain_until"])
    if agent.state == State.DRAINING:
        # Its next heartbeat says whether it is congested.
        move(agent, State.READY, reason=reason, actor=actor.name, request_id=actor.request_id)


def _moved(agent: Agent, new: State, reason: str, actor: Actor) -> Agent:
    before = _wish(agent)
    # What somebody has said, a heartbeat does not undo, even if silence had said it before.
    said = Agent.objects.filter(id=agent.id, retired_for_silence=True).update(retired_for_silence=False)
    if move(agent, new, reason=_short(reason), actor=actor.name, request_id=actor.request_id) or said:
        _record(agent, actor, before)
    return _shown(agent.id)


def _locked(agent_id: UUID) -> Agent:
    """Raises UnknownAgent."""
    agent = _lock(agent_id)
    if agent is None:
        raise UnknownAgent(f"There is no agent {agent_id}.")
    return agent


def _lock(agent_id: UUID) -> Agent | None:
    """The lease's row first, as heartbeats and the sweep do."""
    lease = Lease.objects.select_for_update(of=("self",)).filter(agent_id=agent_id).first()
    agent = Agent.objects.select_for_update().filter(id=agent_id).first()
    return agent if lease is not None else None


def _short(reason: str) -> str:
    """As the column holds it; the audit log has all of it."""
    return reason[:255]


def _shown(agent_id: UUID) -> Agent:
    return Agent.objects.shown().get(id=agent_id)


def _wish(agent: Agent) -> dict[str, Any]:
    until = agent.drain_until
    return {
        "state": agent.state,
        "drain_reason": agent.drain_reason,
        "drain_until": until.isoformat() if until else None,
    }


def _record(agent: Agent, actor: Actor, before: dict[str, Any]) -> None:
    """In the audit log; the change of state announces itself."""
    audit.record(
        AGENT_CHANGED,
        "agent",
        str(agent.id),
        actor=actor,
        before=before,
        after=_wish(agent),
        data={"agent_id": str(agent.id), "name": agent.name, "environment": agent.environment},
    )
