"""The fleet guard: if many agents fall silent together, the cause is more likely on our side. Pure.

While it is engaged, agents whose lease expires become `unknown`, and no work is rescheduled.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from registry.environments.hearing import HEARD, Hearing


class GuardMode(StrEnum):
    """The mode that an operator can set instead of the rule, for a while."""

    ENGAGE = "engage"
    LIFT = "lift"


@dataclass(frozen=True, slots=True)
class GuardPolicy:
    """share, least: of silent agents that engage it. lift_share: below this share it is lifted.

    longest: after this it is lifted anyway if any agent is heard; zero: only an operator lifts it.
    """

    share: float
    least: int
    lift_share: float
    longest: timedelta


@dataclass(frozen=True, slots=True)
class Counts:
    """Agents of one environment, or of the fleet.

    live: with a lease. due: of these, with a lease that expired or will soon, for lack of heartbeats.
    expired: of these, with a lease that expired. gone: unavailable since the last minute. unknown: by state.
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
    """The stored state. engaged_at: None while not engaged. mode: set by an operator, at mode_set_at."""

    engaged_at: datetime | None = None
    mode: GuardMode | None = None
    mode_until: datetime | None = None
    mode_set_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """silent, agents: the counts judged, without long unavailable agents. mode: the one in force."""

    engaged: bool
    reason: str
    silent: int
    agents: int
    mode: GuardMode | None = None


@dataclass(frozen=True, slots=True)
class _Case:
    """The input of a verdict: `silent` of `agents`. unheard: how long none was heard, if a silence."""

    state: GuardState
    counts: Counts
    policy: GuardPolicy
    hearing: Hearing
    now: datetime
    silent: int
    agents: int
    unheard: timedelta | None

    def verdict(self, engaged: bool, reason: str, mode: GuardMode | None = None) -> Verdict:
        return Verdict(engaged, reason, self.silent, self.agents, mode)

    def is_many(self) -> bool:
        return self.silent >= self.policy.least and self.silent >= self.policy.share * self.agents

    def is_calm(self) -> bool:
        return self.silent == 0 or self.silent < self.policy.lift_share * self.agents


def judge(
    state: GuardState, counts: Counts, policy: GuardPolicy, hearing: Hearing = HEARD, *, now: datetime
) -> Verdict:
    """Decide whether the guard is engaged from now on, and why."""
    case = _case(state, counts, policy, hearing, now)
    mode = _mode_in_force(case)
    if mode is not None:
        return case.verdict(mode is GuardMode.ENGAGE, f"An operator set the mode to {mode}.", mode)
    if state.engaged_at is not None:
        return _judge_engaged(case, state.engaged_at)
    if counts.expired == 0:
        # Late agents alone are no reason: a lease must have expired.
        return case.verdict(False, "")
    if case.unheard is not None:
        return case.verdict(True, _unheard_reason(case.unheard))
    if case.agents >= hearing.least and hearing.is_returning(now):
        return case.verdict(True, "Agents are heard again after a silence; waiting for the others to return.")
    return case.verdict(*_judge_lifted(case))


def _case(state: GuardState, counts: Counts, policy: GuardPolicy, hearing: Hearing, now: datetime) -> _Case:
    # After a lift, the agents that it held back expire, and must not engage it again.
    unknown = counts.unknown if state.engaged_at is not None or state.mode is GuardMode.LIFT else 0
    agents = counts.live + counts.gone + unknown
    unheard = hearing.silence(now) if agents >= hearing.least else None
    return _Case(state, counts, policy, hearing, now, counts.due + counts.gone + unknown, agents, unheard)


def _mode_in_force(case: _Case) -> GuardMode | None:
    """Return the operator's mode until its end. `lift` ends with its incident and covers no later one."""
    state, hearing = case.state, case.hearing
    if state.mode is None or state.mode_until is None or case.now >= state.mode_until:
        return None
    if state.mode is GuardMode.ENGAGE:
        return state.mode
    if case.unheard is not None:
        return state.mode if hearing.was_silent_at(state.mode_set_at) else None
    return None if case.is_calm() else state.mode


def _judge_engaged(case: _Case, engaged_at: datetime) -> Verdict:
    silent, agents, hearing = case.silent, case.agents, case.hearing
    counts_text = f"{silent} of {agents} agents are silent"
    if case.unheard is not None:
        return case.verdict(True, _unheard_reason(case.unheard))
    # A silence of all agents has ended since: live agents get time to return, then the rule decides.
    resumed = hearing.since is not None and hearing.since > engaged_at
    if silent and resumed and hearing.is_returning(case.now):
        return case.verdict(True, f"{counts_text}; waiting for them to return.")
    if case.is_calm() or (resumed and not case.is_many()):
        return case.verdict(False, f"{counts_text} now.")
    since = hearing.since if resumed and hearing.since else engaged_at
    if case.policy.longest and case.now - since >= case.policy.longest:
        return case.verdict(False, "The maximum duration is over.")
    return case.verdict(True, f"{counts_text}.")


def _judge_lifted(case: _Case) -> tuple[bool, str]:
    if case.is_many():
        return True, f"{case.silent} of {case.agents} agents fell silent together."
    return False, ""


def _unheard_reason(silence: timedelta) -> str:
    # Rounded, so that not each sweep writes the row.
    minutes = int(silence.total_seconds()) // 60
    return f"No agent has been heard for {minutes} min." if minutes else "No agent is being heard."
