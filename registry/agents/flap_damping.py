"""Flap damping: an agent that comes back again and again must first beat for a while. Pure.

Each return costs a penalty that halves with time. The first return counts at once; later ones need an
unbroken row of heartbeats, the longer the higher the penalty.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

_FREE_BELOW = 1.5
_MOST_DOUBLINGS = 16


@dataclass(frozen=True, slots=True)
class DampingPolicy:
    """half_life: of the penalty. hold: how long the first damped return has to beat. longest: the most."""

    half_life: timedelta
    hold: timedelta
    longest: timedelta


@dataclass(frozen=True, slots=True)
class FlapRecord:
    """at: when the penalty was last counted. steady_since: of the unbroken row, while it is waited for."""

    penalty: float = 0.0
    at: datetime | None = None
    steady_since: datetime | None = None

    def decayed(self, policy: DampingPolicy, now: datetime) -> float:
        if self.at is None:
            return 0.0
        return float(self.penalty * 0.5 ** max(0.0, (now - self.at) / policy.half_life))


@dataclass(frozen=True, slots=True)
class Return:
    """wait: how long the agent still has to beat; zero: it is back."""

    record: FlapRecord
    wait: timedelta


def returning(record: FlapRecord, *, unbroken: bool, policy: DampingPolicy, now: datetime) -> Return:
    """Judge a heartbeat of an unavailable agent. unbroken: its lease had not run out before it."""
    if not unbroken or record.steady_since is None:
        record = FlapRecord(record.decayed(policy, now) + 1, now, now)
    assert record.steady_since is not None  # set above, or checked
    wait = max(timedelta(), record.steady_since + _needed(record.penalty, policy) - now)
    if wait:
        return Return(record, wait)
    return Return(FlapRecord(record.penalty, record.at, None), wait)


def _needed(penalty: float, policy: DampingPolicy) -> timedelta:
    if penalty < _FREE_BELOW:
        return timedelta()
    doublings = min(_MOST_DOUBLINGS, int(penalty - _FREE_BELOW))
    held: timedelta = policy.hold * 2**doublings
    return min(held, policy.longest)
