"""The rate at which a team may change its documents. Pure.

A token bucket: a pipeline may publish everything in one burst, and a script in a loop is stopped.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil


@dataclass(frozen=True, slots=True)
class ChangeRate:
    """The maximum number of changes within a window."""

    changes: int = 300
    window: timedelta = timedelta(minutes=10)

    @property
    def per_second(self) -> float:
        """Changes per second."""
        return self.changes / self.window.total_seconds()


@dataclass(frozen=True, slots=True)
class ChangeBudget:
    """The changes that a team had left at the time of its last change."""

    left: float
    at: datetime


def spend_one_change(before: ChangeBudget | None, *, rate: ChangeRate, now: datetime) -> ChangeBudget | None:
    """Return the budget after one more change, or None if it is exhausted."""
    left = _left(before, rate, now)
    return ChangeBudget(left - 1, now) if left >= 1 else None


def retry_after(before: ChangeBudget, *, rate: ChangeRate, now: datetime) -> int:
    """Return the seconds until the next change is accepted, at least 1."""
    return max(1, ceil((1 - _left(before, rate, now)) / rate.per_second))


def exceeds_burst(budget: ChangeBudget, *, rate: ChangeRate, burst: int) -> bool:
    """True if the team recently made more than `burst` changes."""
    return budget.left < rate.changes - burst


def _left(before: ChangeBudget | None, rate: ChangeRate, now: datetime) -> float:
    if before is None:
        return float(rate.changes)
    seconds = max(0.0, (now - before.at).total_seconds())
    return min(float(rate.changes), before.left + seconds * rate.per_second)
