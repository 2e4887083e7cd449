"""The states of an agent over time, as bars of a picture. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

WIDTH = 1000


@dataclass(frozen=True, slots=True)
class Span:
    """A state, and where its bar lies: x and width out of WIDTH."""

    state: str
    x: float
    width: float


def spans(
    changes: Iterable[tuple[datetime, str, str]], current: str, *, since: datetime, now: datetime
) -> list[Span]:
    """Bars from `since` until now. changes: when, from and to which state; the oldest first."""
    known = [one for one in changes if one[0] > since]
    moments = [since, *(at for at, _, _ in known), now]
    states = [known[0][1] if known else current, *(new for _, _, new in known)]
    whole = (now - since).total_seconds()
    found = []
    for state, begin, end in zip(states, moments, moments[1:], strict=False):
        x = (begin - since).total_seconds() / whole * WIDTH
        found.append(Span(state, round(x, 1), round((end - begin).total_seconds() / whole * WIDTH, 1)))
    return found
