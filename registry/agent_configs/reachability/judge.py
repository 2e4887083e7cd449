"""Evaluate probe outcomes: one failure is not enough, and failing endpoints are probed less often. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from registry.agent_configs.bundles.conditions import ProbeResult, Status

VANTAGE = "the control plane"
_MAX_STREAK = 1000
_MAX_DOUBLINGS = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one probe. Unknown: the agent could not be probed.

    reported: the task types that the agent lists, in lower case; None if it lists none.
    """

    status: Status
    reason: str
    message: str = ""
    reported: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """The current outcome of an endpoint. leaning: the status of its last `streak` probes."""

    outcome: Outcome
    leaning: Status = Status.UNKNOWN
    streak: int = 0


NEVER_PROBED = Finding(Outcome(Status.UNKNOWN, "NotProbed", "No agent of the document has been probed yet."))


@dataclass(frozen=True, slots=True)
class ProbeThresholds:
    """Consecutive probes needed: failures until an endpoint is unreachable, successes until it recovers."""

    failures: int = 3
    successes: int = 2

    def needed(self, before: Status, status: Status) -> int:
        if status is Status.TRUE:
            return self.successes if before is Status.FALSE else 1
        return self.failures if status is Status.FALSE or before is Status.TRUE else 1


def judge_outcome(before: Finding, outcome: Outcome, thresholds: ProbeThresholds) -> Finding:
    """Return the finding after one more probe."""
    going_on = outcome.status is before.leaning
    streak = min(before.streak + 1, _MAX_STREAK) if going_on else 1
    current = before.outcome
    if outcome.status is current.status or streak >= thresholds.needed(current.status, outcome.status):
        current = outcome
    return replace(before, outcome=current, leaning=outcome.status, streak=streak)


def seconds_until_next_probe(finding: Finding, interval: float, jitter: float) -> float:
    """Return the seconds: fewer while in doubt, more for lasting failures. jitter: 0 to 1."""
    seconds = interval
    if finding.leaning is not finding.outcome.status:
        seconds = interval / 4
    elif finding.outcome.status is Status.FALSE:
        seconds = interval * 2 ** min(finding.streak // 10, _MAX_DOUBLINGS)
    return seconds * (0.8 + 0.4 * jitter)


def combine_outcomes(outcomes: Collection[Outcome]) -> ProbeResult | None:
    """Combine the outcomes of a document's endpoints; the worst one counts."""
    worst = (
        _find_first(outcomes, Status.FALSE)
        or _find_first(outcomes, Status.UNKNOWN)
        or _find_first(outcomes, Status.TRUE)
    )
    if worst is None:
        return None
    reachable = {Status.TRUE: True, Status.FALSE: False}.get(worst.status)
    vantage = VANTAGE if reachable is not None else ""
    return ProbeResult(reachable, vantage, worst.message, worst.reason)


def _find_first(outcomes: Iterable[Outcome], status: Status) -> Outcome | None:
    return next((outcome for outcome in outcomes if outcome.status is status), None)
