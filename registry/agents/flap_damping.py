"""Flap damping: an agent that returns repeatedly must first send heartbeats for a while. Pure.

Each return adds to a penalty that decays with a half-life. The first return takes effect at once; later ones
need an unbroken series of heartbeats, longer for a higher penalty.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

_FREE_BELOW = 1.5
_MAX_DOUBLINGS = 16


@dataclass(frozen=True, slots=True)
class DampingPolicy:
    """half_life: of the penalty. hold: the wait of the first damped return. longest: the maximum wait."""

    half_life: timedelta
    hold: timedelta
    longest: timedelta


@dataclass(frozen=True, slots=True)
class FlapRecord:
    """at: when the penalty was last updated. steady_since: start of the unbroken series, during a wait."""

    penalty: float = 0.0
    at: datetime | None = None
    steady_since: datetime | None = None

    def decayed(self, policy: DampingPolicy, now: datetime) -> float:
        if self.at is None:
            return 0.0
        return float(self.penalty * 0.5 ** max(0.0, (now - self.at) / policy.half_life))


@dataclass(frozen=True, slots=True)
class ReturnVerdict:
    """wait: how long the agent must still send heartbeats; zero: it has returned."""

    record: FlapRecord
    wait: timedelta


def is_damped(penalty: float) -> bool:
    """Return whether an agent with this penalty has returned too often to return at once."""
    return penalty >= _FREE_BELOW


def judge_return(
    record: FlapRecord, *, unbroken: bool, policy: DampingPolicy, now: datetime
) -> ReturnVerdict:
    """Judge a heartbeat of an unavailable agent. unbroken: its lease had not expired before."""
    if not unbroken or record.steady_since is None:
        record = FlapRecord(record.decayed(policy, now) + 1, now, now)
    assert record.steady_since is not None  # set above, or checked
    wait = max(timedelta(), record.steady_since + _required_wait(record.penalty, policy) - now)
    if wait:
        return ReturnVerdict(record, wait)
    return ReturnVerdict(FlapRecord(record.penalty, record.at, None), wait)


def _required_wait(penalty: float, policy: DampingPolicy) -> timedelta:
    if not is_damped(penalty):
        return timedelta()
    doublings = min(_MAX_DOUBLINGS, int(penalty - _FREE_BELOW))
    hold: timedelta = policy.hold * 2**doublings
    return min(hold, policy.longest)
