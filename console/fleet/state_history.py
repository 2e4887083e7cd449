"""Changes of agents' states, from the events that the caller may read, as bars over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from console.fleet import timeline
from console.fleet.timeline import Move, Span, path_of
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
    """What an agent did in the last hour. bars: state and SVG path; summary: the same in words."""

    bars: Sequence[tuple[str, str]]
    summary: str


def moves_of(
    agents: Sequence[Agent], caller: Caller, since: datetime, *, most: int
) -> tuple[dict[str, list[Move]], datetime]:
    """Return each agent's state changes, oldest first, and the time from which these are complete.

    most: changes of all these agents together, of which there can be more.
    """
    ids = [str(agent.id) for agent in agents]
    rows = visible_events(caller).filter(object_type="agent", object_id__in=ids, at__gte=since)
    newest_first = rows.filter(type__in=STATE_OF).order_by("-seq", "-position")
    # Four values of each, since the events of a page of agents are many and large.
    newest = list(newest_first.values_list("object_id", "at", "type", "data__from")[: most + 1])
    moves: dict[str, list[Move]] = {}
    for agent_id, at, type_name, before in reversed(newest[:most]):
        moves.setdefault(agent_id, []).append(Move(at, before or "", STATE_OF[type_name]))
    return moves, newest[most - 1][1] if len(newest) > most else since


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
        hours[str(agent.id)] = LastHour(
            [(span.state, path_of(span)) for span in spans], timeline.summary(spans)
        )
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
