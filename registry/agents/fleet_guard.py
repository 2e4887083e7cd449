"""The fleet guard: many agents that fall silent together are more likely our mistake than theirs. Pure.

While it is engaged, agents whose lease runs out become `unknown` and nothing is placed anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class Ruling(StrEnum):
    """What an operator may say instead of the rule, for a while."""

    ENGAGE = "engage"
    LIFT = "lift"


@dataclass(frozen=True, slots=True)
class GuardPolicy:
    """share, least: of agents that must fall silent to engage it. lift_share: below it is lifted.

    longest: after this it is lifted all the same; zero: only an operator lifts it then.
    """

    share: float
    least: int
    lift_share: float
    longest: timedelta


@dataclass(frozen=True, slots=True)
class Counts:
    """Of one environment, or the fleet.

    live: agents that hold a lease. due: those of them whose lease ran out or will soon, for want of
    heartbeats. expired: those whose lease ran out. gone: marked in the last minute. unknown: as stored.
    """

    live: int = 0
    due: int = 0
    expired: int = 0
    gone: int = 0
    unknown: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.live + other.live,
            self.due + other.due,
            self.expired + other.expired,
            self.gone + other.gone,
            self.unknown + other.unknown,
        )


@dataclass(frozen=True, slots=True)
class GuardState:
    """As stored. engaged_at is None while the guard is not engaged."""

    engaged_at: datetime | None = None
    ruling: Ruling | None = None
    ruling_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """silent among agents: what was judged. The long dead are in neither number."""

    engaged: bool
    reason: str
    silent: int
    agents: int


def judge(state: GuardState, counts: Counts, policy: GuardPolicy, *, now: datetime) -> Verdict:
    """Decide whether the guard holds from now on, and why."""
    engaged = state.engaged_at is not None
    # Once lifted, those that it held back are marked, and must not engage it again.
    held = counts.unknown if engaged else 0
    silent = counts.due + counts.gone + held
    agents = counts.live + counts.gone + held
    said = state.ruling if state.ruling_until and now < state.ruling_until else None
    if said is not None:
        return Verdict(said is Ruling.ENGAGE, f"An operator said {said}.", silent, agents)
    if state.engaged_at is not None:
        return _keep(state.engaged_at, silent, agents, policy, now)
    # Lateness alone is no reason: something must be about to be marked.
    many = counts.expired > 0 and silent >= policy.least and silent >= policy.share * agents
    return Verdict(many, f"{silent} of {agents} agents fell silent together." if many else "", silent, agents)


def _keep(engaged_at: datetime, silent: int, agents: int, policy: GuardPolicy, now: datetime) -> Verdict:
    if silent < policy.lift_share * agents or silent == 0:
        return Verdict(False, f"{silent} of {agents} agents are silent now.", silent, agents)
    if policy.longest and now - engaged_at >= policy.longest:
        return Verdict(False, "It was engaged for as long as it may be.", silent, agents)
    return Verdict(True, f"{silent} of {agents} agents are silent.", silent, agents)
