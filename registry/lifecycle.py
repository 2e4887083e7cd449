"""Lifecycle operations on agents: approve, drain, resume, deregister, retire, remove."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from controlplane.access import audit
from controlplane.access.principals import set_active
from controlplane.errors import Conflict, FieldError, InvalidRequest, StillInUse
from controlplane.identity.actors import Actor, system
from registry.agents.event_types import AGENT_REMOVED
from registry.agents.lookup import unknown_agent
from registry.agents.models import Agent, Lease
from registry.agents.states import LIVE, State
from registry.agents.transitions import agent_facts, move, record_change
from registry.dispatch.agent_work import check_no_work, look_again_at, unsettled_of
from registry.joining.credentials import own_principal
from registry.joining.granted_terms import record_approval

_SWEEPER = system("sweep")
_BATCH = 500
_RECENT = timedelta(hours=1)


@transaction.atomic
def approve(agent_id: UUID, *, actor: Actor) -> Agent:
    """Approve an agent whose join token requires approval. Raises UnknownAgent, Conflict."""
    agent = _locked(agent_id)
    if agent.state != State.REGISTERED:
        raise Conflict(f"This agent is {agent.state} and does not need approval.")
    record_approval(agent.registered_by)
    new = State.DRAINING if agent.drain_reason else State.READY
    return _move(agent, new, actor.reason or f"Approved by {actor.name}.", actor)


@transaction.atomic
def drain(agent_id: UUID, *, reason: str, until: datetime | None, actor: Actor) -> Agent:
    """Stop sending work to the agent, optionally until a time. Raises Conflict, InvalidRequest."""
    agent = _locked(agent_id)
    if until is not None and until <= timezone.now():
        message = "`until` is in the past. Set a time in the future, or omit it."
        raise InvalidRequest(message, errors=[FieldError("/until", "over", message)])
    if agent.state == State.RETIRED:
        raise Conflict("This agent is retired and cannot be drained.")
    before = _snapshot(agent)
    agent.drain_reason, agent.drain_until = reason, until
    agent.save(update_fields=["drain_reason", "drain_until"])
    if agent.state in LIVE:
        move(agent, State.DRAINING, reason=reason, actor=actor.name, request_id=actor.request_id)
    record_change(agent, before=before, after=_snapshot(agent), actor=actor)
    return _reload(agent_id)


@transaction.atomic
def resume(agent_id: UUID, *, actor: Actor) -> Agent:
    """End the drain of the agent. Idempotent."""
    agent = _locked(agent_id)
    if not agent.drain_reason:
        return _reload(agent_id)
    before = _snapshot(agent)
    _clear_drain(agent, _truncate(actor.reason or f"Resumed by {actor.name}."), actor)
    record_change(agent, before=before, after=_snapshot(agent), actor=actor)
    return _reload(agent_id)


@transaction.atomic
def deregister(agent_id: UUID, *, actor: Actor, force: bool = False) -> Agent:
    """Retire the agent at its own request. It can register again with its current credential.

    Raises StillInUse if it has resources, unless `force`.
    """
    if not force:
        check_no_work(agent_id, "or deregister it with force=true")
    Agent.objects.filter(id=agent_id, dismissed=True).update(dismissed=False)
    return _move(_locked(agent_id), State.RETIRED, actor.reason or "Deregistered.", actor)


@transaction.atomic
def retire(agent_id: UUID, *, actor: Actor) -> Agent:
    """Retire the agent and revoke its credential. A DCM agent has none: its next registration is refused."""
    agent = _locked(agent_id)
    Agent.objects.filter(id=agent.id).update(dismissed=True)
    principal = own_principal(agent)
    if principal is not None:
        set_active(principal.name, is_active=False, actor=actor)
    return _move(agent, State.RETIRED, actor.reason or f"Retired by {actor.name}.", actor)


@transaction.atomic
def remove(agent_id: UUID, *, force: bool, actor: Actor) -> None:
    """Delete the record of a retired agent without resources, or of any with `force`. Raises StillInUse."""
    agent = _locked(agent_id)
    if agent.state != State.RETIRED and not force:
        raise StillInUse(f"This agent is {agent.state}. Retire it first, or remove it with force=true.")
    if not force:
        check_no_work(agent_id, "or remove the agent with force=true")
    _forget(agent, actor)


def end_drains() -> int:
    """End drains whose time has passed. Returns how many."""
    return _for_each(Agent.objects.filter(drain_until__lte=Now()), _end_drain)


def collect_garbage(*, retire_after: timedelta, remove_after: timedelta) -> tuple[int, int]:
    """Retire agents that were silent for long, remove those retired long ago. Returns how many of each.

    An agent that has resources is not removed. One that sends heartbeats is never changed, whatever its
    state: it may be unable to register again.
    """
    retired = _for_each(_silent(State.UNAVAILABLE, retire_after), _retire_silent)
    if _any_agent_reports():
        # Their fleet guard stays active until an operator lifts it, which may never happen.
        retired += _for_each(_silent(State.UNKNOWN, retire_after), _retire_silent)
    unused = _silent(State.RETIRED, remove_after).filter(~Exists(unsettled_of(OuterRef("id"))))
    return retired, _for_each(unused, lambda agent: _forget(agent, _SWEEPER))


def _any_agent_reports() -> bool:
    return Lease.objects.filter(renewed_at__gt=Now() - _RECENT).exists()


def _silent(state: State, age: timedelta) -> QuerySet[Agent]:
    since = Now() - age
    return Agent.objects.filter(state=state.value, state_since__lt=since, lease__renewed_at__lt=since)


def _for_each(agents: QuerySet[Agent], act: Callable[[Agent], None]) -> int:
    count = 0
    for agent_id in agents.values_list("id", flat=True)[:_BATCH]:
        with transaction.atomic():
            agent = _lock(agent_id)
            # In the meantime it may have been removed or sent a heartbeat.
            if agent is not None and agents.filter(id=agent_id).exists():
                act(agent)
                count += 1
    return count


def _end_drain(agent: Agent) -> None:
    _clear_drain(agent, "The drain ended as scheduled.", _SWEEPER)


def _retire_silent(agent: Agent) -> None:
    Agent.objects.filter(id=agent.id).update(retired_for_silence=True)
    move(agent, State.RETIRED, reason="No heartbeat for too long.", actor=_SWEEPER.name)
    look_again_at(agent.id)


def _forget(agent: Agent, actor: Actor) -> None:
    look_again_at(agent.id)
    data = agent_facts(agent)
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
        team_id=agent.team_id,
    )


def _clear_drain(agent: Agent, reason: str, actor: Actor) -> None:
    agent.drain_reason, agent.drain_until = "", None
    agent.save(update_fields=["drain_reason", "drain_until"])
    if agent.state == State.DRAINING:
        # Its next heartbeat determines whether it is congested.
        move(agent, State.READY, reason=reason, actor=actor.name, request_id=actor.request_id)


def _move(agent: Agent, new: State, reason: str, actor: Actor) -> Agent:
    before = _snapshot(agent)
    # A heartbeat must not undo an explicit change, even if the agent was retired for silence before.
    was_silent = Agent.objects.filter(id=agent.id, retired_for_silence=True).update(retired_for_silence=False)
    if (
        move(agent, new, reason=_truncate(reason), actor=actor.name, request_id=actor.request_id)
        or was_silent
    ):
        record_change(agent, before=before, after=_snapshot(agent), actor=actor)
        look_again_at(agent.id)
    return _reload(agent.id)


def _locked(agent_id: UUID) -> Agent:
    """Raises UnknownAgent."""
    agent = _lock(agent_id)
    if agent is None:
        raise unknown_agent(agent_id)
    return agent


def _lock(agent_id: UUID) -> Agent | None:
    """Lock the lease first, as heartbeats and the sweep do."""
    lease = Lease.objects.select_for_update(of=("self",)).filter(agent_id=agent_id).first()
    agent = Agent.objects.select_for_update().filter(id=agent_id).first()
    return agent if lease is not None else None


def _truncate(reason: str) -> str:
    """Shorten to the length of the column; the audit log has the full text."""
    return reason[:255]


def _reload(agent_id: UUID) -> Agent:
    return Agent.objects.shown().get(id=agent_id)


def _snapshot(agent: Agent) -> dict[str, Any]:
    until = agent.drain_until
    return {
        "state": agent.state,
        "drain_reason": agent.drain_reason,
        "drain_until": until.isoformat() if until else None,
    }
