"""How often a team may change its documents. Pure.

A bucket of changes that fills with time: a burst is fine, such as a pipeline that publishes everything once;
a script in a loop is stopped.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil


@dataclass(frozen=True, slots=True)
class Pace:
    """At most so many changes within the window."""

    changes: int = 300
    window: timedelta = timedelta(minutes=10)

    @property
    def rate(self) -> float:
        """Changes for each second."""
        return self.changes / self.window.total_seconds()


@dataclass(frozen=True, slots=True)
class Budget:
    """What a team has left, as of the time of its last change."""

    left: float
    at: datetime


def spent(before: Budget | None, *, pace: Pace, now: datetime) -> Budget | None:
    """The budget after one more change; None if there is nothing left for it."""
    left = _left(before, pace, now)
    return Budget(left - 1, now) if left >= 1 else None


def retry_after(before: Budget, *, pace: Pace, now: datetime) -> int:
    """Seconds until the next change is accepted; 1 at least."""
    return max(1, ceil((1 - _left(before, pace, now)) / pace.rate))


def is_busy(budget: Budget, *, pace: Pace, burst: int) -> bool:
    """True for a team that changed more than `burst` times of late."""
    return budget.left < pace.changes - burst


def _left(before: Budget | None, pace: Pace, now: datetime) -> float:
    if before is None:
        return float(pace.changes)
    seconds = max(0.0, (now - before.at).total_seconds())
    return min(float(pace.changes), before.left + seconds * pace.rate)
