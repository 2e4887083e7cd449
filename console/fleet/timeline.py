"""Timeline of an agent's states, as bars of an SVG. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from registry.agents.states import LIVE, SILENT

WIDTH = 1000
_HOUR = timedelta(hours=1)
# One return is a restart. With the third, damping makes the agent wait (registry/agents/flap_damping.py).
_FLAPPING_RETURNS = 3
# A shorter band could not be seen.
_LEAST_WIDTH = 6.0


@dataclass(frozen=True, slots=True)
class Move:
    """A change of state."""

    at: datetime
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Span:
    """A state with its start and end, and its bar: x and width out of WIDTH."""

    state: str
    begin: datetime
    end: datetime
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Flap:
    """A period of repeated returns: x and width out of WIDTH."""

    begin: datetime
    end: datetime
    returns: int
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on the time axis: x out of WIDTH, and its age in hours."""

    x: float
    hours: int


def spans(
    moves: Iterable[Move],
    current: str,
    *,
    state_since: datetime,
    known_from: datetime,
    since: datetime,
    now: datetime,
) -> list[Span]:
    """Return bars from `since` until now for the time in which the state is known.

    moves: all state changes since `known_from`, oldest first.
    state_since: start of the current state, which is known without moves.
    """
    begin = max(since, known_from)
    recent = [move for move in moves if begin < move.at <= now]
    if not recent:
        return list(_bars([(current, max(begin, min(state_since, now)))], since=since, now=now))
    starts = [(recent[0].before, begin), *((move.after, move.at) for move in recent)]
    return list(_bars([move for move in starts if move[0]], since=since, now=now))


def path_of(span: Span) -> str:
    """Return the bar as an SVG path: a line along the middle, which is as wide as the bar is high."""
    return f"M{span.x:.0f} 80h{span.width:.0f}"


def summary(spans: Iterable[Span]) -> str:
    """Return how long each state lasted, longest first, such as `ready 52 min, unavailable 8 min`."""
    totals: dict[str, timedelta] = {}
    for span in spans:
        totals[span.state] = totals.get(span.state, timedelta()) + (span.end - span.begin)
    longest = sorted(totals.items(), key=lambda each: -each[1])
    return ", ".join(f"{state} {_minutes(total)}" for state, total in longest)


def _minutes(duration: timedelta) -> str:
    minutes = round(duration / timedelta(minutes=1))
    return f"{minutes} min" if minutes else "< 1 min"


def flaps(
    moves: Iterable[Move], *, since: datetime, now: datetime, damped: Iterable[datetime] = ()
) -> list[Flap]:
    """Return the periods with several returns from silence, each at most an hour after the one before.

    moves: oldest first. damped: when the agent returned too often, and had to wait until it was ready.
    """
    waits = {at for at in damped if at >= since}
    series: list[list[datetime]] = []
    for at in _returns((move for move in moves if move.at >= since), waits):
        if series and at - series[-1][-1] <= _HOUR:
            series[-1].append(at)
        else:
            series.append([at])
    return [_flap(ats, since, now) for ats in series if len(ats) >= _FLAPPING_RETURNS or waits & set(ats)]


def _returns(moves: Iterable[Move], waits: set[datetime]) -> list[datetime]:
    """Return when the agent returned from silence. The end of a wait is the end of the same return."""
    ends = (move.at for move in moves if move.before in SILENT and move.after in LIVE)
    returns: list[datetime] = []
    is_waiting = False
    for at in sorted([*ends, *waits]):
        if at in waits or not is_waiting:
            returns.append(at)
        is_waiting = at in waits
    return returns


def _flap(returns: list[datetime], since: datetime, now: datetime) -> Flap:
    x = _x(returns[0], since, now)
    width = max(_LEAST_WIDTH, round(_x(returns[-1], since, now) - x, 1))
    return Flap(returns[0], returns[-1], len(returns), min(x, WIDTH - width), width)


def ticks(*, since: datetime, now: datetime, hours: int = 6) -> list[Tick]:
    """Return a mark every few hours, oldest first."""
    length = now - since
    count = length // _HOUR
    return [Tick(_x(now - number * _HOUR, since, now), number) for number in range(count, -1, -hours)]


def _bars(starts: list[tuple[str, datetime]], *, since: datetime, now: datetime) -> Iterator[Span]:
    ends = [*(begin for _, begin in starts[1:]), now]
    for (state, begin), end in zip(starts, ends, strict=True):
        x = _x(begin, since, now)
        yield Span(state, begin, end, x, round(_x(end, since, now) - x, 1))


def _x(at: datetime, since: datetime, now: datetime) -> float:
    return round((at - since).total_seconds() / (now - since).total_seconds() * WIDTH, 1)
