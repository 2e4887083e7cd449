"""Changes of agents' states, from the events that the caller may read, as bars over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from console.fleet import timeline
from console.fleet.timeline import Move, Span
from controlplane.events.visibility import visible_events
from controlplane.identity.callers import Caller
from registry.agents.event_types import AGENT_FLAPPING, BY_STATE
from registry.agents.models import Agent

STATE_OF = {event_type.name: state.value for state, event_type in BY_STATE.items()}
# Events that are read for a page of agents, newest first; before the oldest of them, states are not known.
_MAX_MOVES = 2000
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class LastHour:
    """What an agent did in the last hour: its bars, and the same in words."""

    spans: Sequence[Span]
    summary: str


def moves_of(
    agents: Sequence[Agent], caller: Caller, since: datetime, *, most: int
) -> tuple[dict[str, list[Move]], datetime]:
    """Return each agent's state changes, oldest first, and the time from which these are complete.

    most: changes of all these agents together, of which there can be more.
    """
    ids = [str(agent.id) for agent in agents]
    rows = visible_events(caller).filter(object_type="agent", object_id__in=ids, at__gte=since)
    newest = list(rows.filter(type__in=STATE_OF).order_by("-seq", "-position")[: most + 1])
    moves: dict[str, list[Move]] = {}
    for event in reversed(newest[:most]):
        move = Move(event.at, event.data.get("from", ""), STATE_OF[event.type])
        moves.setdefault(event.object_id, []).append(move)
    return moves, newest[most - 1].at if len(newest) > most else since


def damped_returns(agent: Agent, caller: Caller, since: datetime) -> list[datetime]:
    """Return when the agent returned too often and had to wait, as far as the caller may read it."""
    rows = visible_events(caller).filter(object_type="agent", object_id=str(agent.id), at__gte=since)
    return list(rows.filter(type=AGENT_FLAPPING.name).values_list("at", flat=True))


def last_hours(agents: Sequence[Agent], caller: Caller, now: datetime) -> dict[str, LastHour]:
    """Return the last hour of each agent by its id."""
    since = now - _HOUR
    moves, complete_from = moves_of(agents, caller, since, most=_MAX_MOVES)
    hours = {}
    for agent in agents:
        spans = spans_of(agent, moves.get(str(agent.id), []), complete_from, since=since, now=now)
        hours[str(agent.id)] = LastHour(spans, timeline.summary(spans))
    return hours


def spans_of(
    agent: Agent, moves: Sequence[Move], complete_from: datetime, *, since: datetime, now: datetime
) -> list[Span]:
    """Return the bars of an agent's states. moves, complete_from: from `moves_of`."""
    return timeline.spans(
        moves,
        agent.state,
        state_since=agent.state_since,
        known_from=max(agent.created_at, complete_from),
        since=since,
        now=now,
    )
