"""The states of an agent over time, as bars of a picture. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

WIDTH = 1000
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Move:
    """A change of state."""

    at: datetime
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Span:
    """A state, from when until when, and where its bar lies: x and width out of WIDTH."""

    state: str
    begin: datetime
    end: datetime
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on the time axis: x out of WIDTH, and how many hours ago that is."""

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
    """Bars from `since` until now, of the time for which the state is known; the rest stays empty.

    moves: the oldest first; every one since `known_from`, which is not before the agent existed.
    state_since: when the current state began, which is known without any move.
    """
    begin = max(since, known_from)
    known = [one for one in moves if begin < one.at <= now]
    if not known:
        return list(_bars([(current, max(begin, min(state_since, now)))], since=since, now=now))
    starts = [(known[0].before, begin), *((one.after, one.at) for one in known)]
    return list(_bars([one for one in starts if one[0]], since=since, now=now))


def ticks(*, since: datetime, now: datetime, hours: int = 6) -> list[Tick]:
    """One mark every few hours, the oldest first."""
    whole = now - since
    count = whole // _HOUR
    return [Tick(_x(now - number * _HOUR, since, now), number) for number in range(count, -1, -hours)]


def _bars(starts: list[tuple[str, datetime]], *, since: datetime, now: datetime) -> Iterator[Span]:
    ends = [*(begin for _, begin in starts[1:]), now]
    for (state, begin), end in zip(starts, ends, strict=True):
        x = _x(begin, since, now)
        yield Span(state, begin, end, x, round(_x(end, since, now) - x, 1))


def _x(at: datetime, since: datetime, now: datetime) -> float:
    return round((at - since).total_seconds() / (now - since).total_seconds() * WIDTH, 1)
