"""The reachability test of an agent: do heartbeats arrive, and do requests get to it? Pure.

A test that has a begin counts only what happened since. Without one, what is known at present counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from controlplane.formats.counts import counted


class Verdict(StrEnum):
    REACHABLE = "reachable"
    UNREACHABLE = "unreachable"
    UNKNOWN = "unknown"


class Way(StrEnum):
    """heartbeats: from the agent to the control plane. requests: from the control plane to the agent."""

    HEARTBEATS = "heartbeats"
    REQUESTS = "requests"


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of one way. at: time of the evidence. is_pending: what comes later may still decide."""

    way: Way
    verdict: Verdict
    message: str
    at: datetime | None = None
    is_pending: bool = False


@dataclass(frozen=True, slots=True)
class Heartbeats:
    """renewed_at: the last heartbeat. expires_at: end of the lease. interval: between heartbeats."""

    renewed_at: datetime
    expires_at: datetime
    interval: timedelta


@dataclass(frozen=True, slots=True)
class Consumer:
    """The agent's consumer in NATS at this moment. is_listening: the agent waits for a request."""

    pending: int
    unacknowledged: int
    is_listening: bool


@dataclass(frozen=True, slots=True)
class ByNats:
    """Requests are sent by NATS. consumer: None if there is none. problem: why NATS did not say."""

    consumer: Consumer | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ByHttps:
    """The agent fetches requests by HTTPS. lasts: after that time without a fetch it gets none."""

    fetched_at: datetime | None
    lasts: timedelta


Requests = ByNats | ByHttps


@dataclass(frozen=True, slots=True)
class Reachability:
    """The outcome of a test: of several checks, the worst one counts. tested_at: by the database's clock."""

    checks: tuple[Check, ...]
    tested_at: datetime

    @property
    def verdict(self) -> Verdict:
        verdicts = {check.verdict for check in self.checks}
        worst_first = (Verdict.UNREACHABLE, Verdict.UNKNOWN)
        return next((verdict for verdict in worst_first if verdict in verdicts), Verdict.REACHABLE)

    @property
    def is_finished(self) -> bool:
        return not any(check.is_pending for check in self.checks)

    @property
    def message(self) -> str:
        """Return the sentence of the check that decided; of all, if the agent is reachable."""
        if self.verdict is Verdict.REACHABLE:
            return " ".join(check.message for check in self.checks)
        return next(check.message for check in self.checks if check.verdict is self.verdict)


def judge_reachability(
    heartbeats: Heartbeats, requests: Requests | None, *, since: datetime | None, now: datetime
) -> Reachability:
    """Return the outcome. requests: None if the agent offers no service, so that it gets no requests."""
    checks = [_judge_heartbeats(heartbeats, since, now)]
    if isinstance(requests, ByNats):
        checks.append(_judge_nats(requests, now))
    elif isinstance(requests, ByHttps):
        checks.append(_judge_https(requests, since, now))
    return Reachability(tuple(checks), now)


def _judge_heartbeats(facts: Heartbeats, since: datetime | None, now: datetime) -> Check:
    at = facts.renewed_at
    if facts.expires_at <= now:
        message = (
            "No heartbeats arrive, and the lease has expired."
            " Check that the agent’s process runs, and that it can connect to the control plane."
        )
        return Check(Way.HEARTBEATS, Verdict.UNREACHABLE, message, at)
    if since is None or at >= since:
        return Check(Way.HEARTBEATS, Verdict.REACHABLE, "Heartbeats arrive.", at)
    seconds = round(facts.interval.total_seconds())
    message = f"No heartbeat since the test began. One is due every {seconds} s."
    return Check(Way.HEARTBEATS, Verdict.UNKNOWN, message, at, is_pending=True)


def _judge_https(facts: ByHttps, since: datetime | None, now: datetime) -> Check:
    at, seconds = facts.fetched_at, round(facts.lasts.total_seconds())
    if at is None or now - at > facts.lasts:
        message = (
            f"The agent has fetched no requests by HTTPS for more than {seconds} s."
            " Check that its process runs, and look in its log for refused requests."
        )
        return Check(Way.REQUESTS, Verdict.UNREACHABLE, message, at)
    if since is None or at >= since:
        return Check(Way.REQUESTS, Verdict.REACHABLE, "The agent fetches requests by HTTPS.", at)
    message = "The agent has not fetched requests by HTTPS since the test began."
    return Check(Way.REQUESTS, Verdict.UNKNOWN, message, at, is_pending=True)


def _judge_nats(facts: ByNats, now: datetime) -> Check:
    verdict, message = _nats_verdict(facts)
    return Check(Way.REQUESTS, verdict, message, now)


def _nats_verdict(facts: ByNats) -> tuple[Verdict, str]:
    consumer = facts.consumer
    if facts.problem:
        return Verdict.UNKNOWN, facts.problem
    if consumer is None:
        return Verdict.UNREACHABLE, (
            "The agent has no consumer in NATS, and fetches nothing by HTTPS, so it gets no requests."
            " Check its connection to NATS."
        )
    if consumer.is_listening:
        return Verdict.REACHABLE, "The agent waits for requests in NATS."
    if consumer.unacknowledged:
        return Verdict.REACHABLE, f"The agent handles {consumer.unacknowledged} of its requests from NATS."
    if consumer.pending:
        waiting = counted(consumer.pending, "request waits", "requests wait")
        return Verdict.UNREACHABLE, (
            f"The agent fetches no requests from NATS, where {waiting}."
            " Check that its process runs and is connected to NATS."
        )
    return Verdict.UNKNOWN, (
        "The agent has a consumer in NATS, but does not wait for requests at this moment."
        " Test again; if it stays so, check that its process is connected to NATS."
    )
