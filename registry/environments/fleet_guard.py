"""The fleet guard: many agents that fall silent together are more likely our mistake than theirs. Pure.

While it is engaged, agents whose lease runs out become `unknown` and nothing is placed anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from registry.environments.hearing import HEARD, Hearing


class Ruling(StrEnum):
    """What an operator may say instead of the rule, for a while."""

    ENGAGE = "engage"
    LIFT = "lift"


@dataclass(frozen=True, slots=True)
class GuardPolicy:
    """share, least: of agents that must fall silent to engage it. lift_share: below it is lifted.

    longest: after this it is lifted all the same, if any is heard; zero: only an operator does.
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
    """As stored. engaged_at is None while the guard is not engaged. ruled_at: when the ruling was given."""

    engaged_at: datetime | None = None
    ruling: Ruling | None = None
    ruling_until: datetime | None = None
    ruled_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """silent among agents: what was judged, without the long dead. ruling: the one that is in force."""

    engaged: bool
    reason: str
    silent: int
    agents: int
    ruling: Ruling | None = None


@dataclass(frozen=True, slots=True)
class _Case:
    """What is judged: `silent` of `agents`. unheard: for how long none of them was heard, if that is long."""

    state: GuardState
    counts: Counts
    policy: GuardPolicy
    hearing: Hearing
    now: datetime
    silent: int
    agents: int
    unheard: timedelta | None

    def verdict(self, engaged: bool, reason: str, ruling: Ruling | None = None) -> Verdict:
        return Verdict(engaged, reason, self.silent, self.agents, ruling)

    def is_many(self) -> bool:
        return self.silent >= self.policy.least and self.silent >= self.policy.share * self.agents

    def is_calm(self) -> bool:
        return self.silent == 0 or self.silent < self.policy.lift_share * self.agents


def judge(
    state: GuardState, counts: Counts, policy: GuardPolicy, hearing: Hearing = HEARD, *, now: datetime
) -> Verdict:
    """Decide whether the guard is engaged from now on, and why."""
    case = _case(state, counts, policy, hearing, now)
    ruling = _ruling_in_force(case)
    if ruling is not None:
        return case.verdict(ruling is Ruling.ENGAGE, f"An operator said {ruling}.", ruling)
    if state.engaged_at is not None:
        return _keep(case, state.engaged_at)
    if counts.expired == 0:
        # Lateness alone is no reason: something must be about to be marked.
        return case.verdict(False, "")
    if case.unheard is not None:
        return case.verdict(True, _unheard(case.unheard))
    if case.agents >= hearing.least and hearing.is_returning(now):
        return case.verdict(True, "Agents are heard again after a silence; the others have time to return.")
    return case.verdict(*_many(case))


def _case(state: GuardState, counts: Counts, policy: GuardPolicy, hearing: Hearing, now: datetime) -> _Case:
    # Once lifted, those that it held back are marked, and must not engage it again.
    held = counts.unknown if state.engaged_at is not None or state.ruling is Ruling.LIFT else 0
    agents = counts.live + counts.gone + held
    unheard = hearing.silence(now) if agents >= hearing.least else None
    return _Case(state, counts, policy, hearing, now, counts.due + counts.gone + held, agents, unheard)


def _ruling_in_force(case: _Case) -> Ruling | None:
    """A ruling has its time. `lift` is about one incident: it ends with it, and covers no later silence."""
    state, hearing = case.state, case.hearing
    if state.ruling is None or state.ruling_until is None or case.now >= state.ruling_until:
        return None
    if state.ruling is Ruling.ENGAGE:
        return state.ruling
    if case.unheard is not None:
        return state.ruling if hearing.was_silent_at(state.ruled_at) else None
    return None if case.is_calm() else state.ruling


def _keep(case: _Case, engaged_at: datetime) -> Verdict:
    silent, agents, hearing = case.silent, case.agents, case.hearing
    figures = f"{silent} of {agents} agents are silent"
    if case.unheard is not None:
        return case.verdict(True, _unheard(case.unheard))
    # A silence of all has ended meanwhile: who is alive has time to return, then the rule judges.
    resumed = hearing.since is not None and hearing.since > engaged_at
    if silent and resumed and hearing.is_returning(case.now):
        return case.verdict(True, f"{figures}; they have time to return.")
    if case.is_calm() or (resumed and not case.is_many()):
        return case.verdict(False, f"{figures} now.")
    began = hearing.since if resumed and hearing.since else engaged_at
    if case.policy.longest and case.now - began >= case.policy.longest:
        return case.verdict(False, "It was engaged for as long as it may be.")
    return case.verdict(True, f"{figures}.")


def _many(case: _Case) -> tuple[bool, str]:
    if case.is_many():
        return True, f"{case.silent} of {case.agents} agents fell silent together."
    return False, ""


def _unheard(silence: timedelta) -> str:
    # Rounded, or each sweep would write the row anew.
    minutes = int(silence.total_seconds()) // 60
    return f"No agent has been heard for {minutes} min." if minutes else "No agent is heard."
