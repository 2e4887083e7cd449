"""Move agents from state to state by compare-and-set, so that each transition records one event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from django.db import connection
from django.db.models.functions import Now

from controlplane.access import audit
from controlplane.database.bulk import recordset
from controlplane.events import log
from controlplane.identity.actors import Actor
from registry.agents.event_types import AGENT_CHANGED, BY_STATE
from registry.agents.models import Agent
from registry.agents.states import TRANSITIONS, State


class NamedAgent(Protocol):
    """An agent, or the columns of it that events contain."""

    @property
    def id(self) -> UUID: ...

    @property
    def name(self) -> str: ...

    @property
    def environment(self) -> str: ...

    @property
    def team_id(self) -> UUID | None: ...


@dataclass(frozen=True, slots=True)
class Transition:
    """agent: in its old state, with its new flap record."""

    agent: Agent
    new: State
    reason: str
    actor: str
    request_id: str = ""


def transition_entry(agent: NamedAgent, old: str, reason: str) -> dict[str, Any]:
    """Return the data of a transition's event."""
    return {**agent_facts(agent), "from": old, "reason": reason}


def agent_facts(agent: NamedAgent) -> dict[str, Any]:
    """Return the members that all events of an agent have."""
    return {"agent_id": str(agent.id), "name": agent.name, "environment": agent.environment}


def move(agent: Agent, new: State, *, reason: str, actor: str, request_id: str = "") -> bool:
    """Change the state if it is still the one that was read, and record the event. Return whether it moved.

    Needs a transaction.
    """
    old = State(agent.state)
    if new == old:
        return False
    _check(old, new)
    moved = Agent.objects.filter(id=agent.id, state=old.value).update(
        state=new.value, state_reason=reason, state_since=Now()
    )
    if not moved:
        return False
    agent.state, agent.state_reason = new.value, reason
    log.append(
        BY_STATE[new],
        "agent",
        str(agent.id),
        data=transition_entry(agent, old.value, reason),
        actor=actor,
        request_id=request_id,
        team_id=agent.team_id,
    )
    return True


def move_many(transitions: Sequence[Transition]) -> None:
    """Do what `move` does for agents whose leases the caller has locked, and store their flap records."""
    for transition in transitions:
        _check(State(transition.agent.state), transition.new)
    with connection.cursor() as cursor:
        cursor.execute(_MOVE, {"rows": recordset(map(_columns, transitions))})
        moved = {agent_id for (agent_id,) in cursor.fetchall()}
    log.append_each([_event(transition) for transition in transitions if transition.agent.id in moved])


def _check(old: State, new: State) -> None:
    if new not in TRANSITIONS[old]:
        raise ValueError(f"an agent cannot move from {old} to {new}")


def _columns(transition: Transition) -> dict[str, Any]:
    agent = transition.agent
    return {
        "id": agent.id,
        "old": agent.state,
        "new": transition.new.value,
        "reason": transition.reason,
        "penalty": agent.flap_penalty,
        "flapped_at": agent.flapped_at,
        "steady_since": agent.steady_since,
    }


def _event(transition: Transition) -> log.Entry:
    agent = transition.agent
    return log.Entry(
        BY_STATE[transition.new],
        "agent",
        str(agent.id),
        transition_entry(agent, agent.state, transition.reason),
        transition.actor,
        request_id=transition.request_id,
        team_id=agent.team_id,
    )


_MOVE = """
UPDATE registry_agent AS agent
SET state = transition.new, state_reason = transition.reason, state_since = now(),
    flap_penalty = transition.penalty, flapped_at = transition.flapped_at,
    steady_since = transition.steady_since
FROM json_to_recordset(%(rows)s) AS transition (
    id uuid, old text, new text, reason text, penalty float8, flapped_at timestamptz, steady_since timestamptz
)
WHERE agent.id = transition.id AND agent.state = transition.old
RETURNING agent.id
"""


def record_change(agent: Agent, *, before: dict[str, Any], after: dict[str, Any], actor: Actor) -> None:
    """Record in the audit log that attributes of an agent changed; transitions have events of their own."""
    audit.record(
        AGENT_CHANGED,
        "agent",
        str(agent.id),
        actor=actor,
        before=before,
        after=after,
        data=agent_facts(agent),
        team_id=agent.team_id,
    )
