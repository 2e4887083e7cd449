"""How often a team may change its documents. Pure.

A bucket of changes that fills with time: a burst is fine, such as a pipeline that publishes everything once;
a script in a loop is stopped.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil


@dataclass(frozen=True, slots=True)
class ChangeRate:
    """At most so many changes within the window."""

    changes: int = 300
    window: timedelta = timedelta(minutes=10)

    @property
    def per_second(self) -> float:
        """Changes for each second."""
        return self.changes / self.window.total_seconds()


@dataclass(frozen=True, slots=True)
class ChangeBudget:
    """What a team has left, as of the time of its last change."""

    left: float
    at: datetime


def spend_one_change(before: ChangeBudget | None, *, rate: ChangeRate, now: datetime) -> ChangeBudget | None:
    """The budget after one more change; None if there is nothing left for it."""
    left = _left(before, rate, now)
    return ChangeBudget(left - 1, now) if left >= 1 else None


def retry_after(before: ChangeBudget, *, rate: ChangeRate, now: datetime) -> int:
    """Seconds until the next change is accepted; 1 at least."""
    return max(1, ceil((1 - _left(before, rate, now)) / rate.per_second))


def exceeds_burst(budget: ChangeBudget, *, rate: ChangeRate, burst: int) -> bool:
    """True for a team that changed more than `burst` times of late."""
    return budget.left < rate.changes - burst


def _left(before: ChangeBudget | None, rate: ChangeRate, now: datetime) -> float:
    if before is None:
        return float(rate.changes)
    seconds = max(0.0, (now - before.at).total_seconds())
    return min(float(rate.changes), before.left + seconds * rate.per_second)
