"""What follows an attempt to deliver an event: done, another attempt, or the end. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum

# Before each attempt: seconds since the attempt before it (Standard Webhooks, "Retry schedule").
STANDARD_SCHEDULE = (0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
_JITTER = 0.1
# Between looks whether a broker is back.
_OUTAGE_SECONDS = 2.0
_LONGEST_WAIT = timedelta(hours=24)
# A sink that never answers well for so long, and so often, is switched off.
_FAILING_FOR = timedelta(days=5)
_FAILURES = 10
_GONE = 410
_TOO_MANY = 429
_ASK_LATER = (_TOO_MANY, 503)


class Result(StrEnum):
    """How an attempt ended. The value is part of the API and of metrics."""

    DELIVERED = "delivered"
    GONE = "gone"
    REDIRECT = "redirect"
    CLIENT_ERROR = "client_error"
    SERVER_ERROR = "server_error"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    TLS = "tls"
    # For good: another attempt would be refused as well.
    REFUSED = "refused"
    ADDRESS_REFUSED = "address_refused"
    TOPIC_MISSING = "topic_missing"
    # The broker is away, which says nothing about the event.
    OUTAGE = "outage"
    INTERNAL = "internal"


_AWAY = (Result.CONNECTION, Result.TIMEOUT, Result.TLS, Result.SERVER_ERROR)


@dataclass(frozen=True, slots=True)
class Answer:
    """The end of one attempt. status: of HTTP, 0 without an answer. retry_after: the header, or empty."""

    result: Result
    status: int = 0
    retry_after: str = ""
    error: str = ""
    milliseconds: int = 0


@dataclass(frozen=True, slots=True)
class Next:
    """What follows: `retry_at`, or no attempt. disable: why the sink is switched off, or empty.

    counts: False if the attempt is not one of those that an event has.
    """

    is_delivered: bool
    retry_at: datetime | None = None
    disable: str = ""
    counts: bool = True

    @property
    def is_dead(self) -> bool:
        return not self.is_delivered and self.retry_at is None


@dataclass(frozen=True, slots=True)
class SinkHealth:
    """failures: in a row. last_success_at: or when the sink was made or resumed."""

    last_success_at: datetime
    failures: int


def result_of(status: int) -> Result:
    """Return the result of an HTTP answer. Any 2xx is a success, and a redirect is never followed."""
    if 200 <= status < 300:
        return Result.DELIVERED
    if status == _GONE:
        return Result.GONE
    if 300 <= status < 400:
        return Result.REDIRECT
    return Result.CLIENT_ERROR if status < 500 else Result.SERVER_ERROR


def outage_if_away(answer: Answer) -> Answer:
    """Return a broker's answer, as an outage if it could not be reached, failed, or asked to slow down."""
    if answer.result in _AWAY or answer.status == _TOO_MANY:
        return replace(answer, result=Result.OUTAGE)
    return answer


def after_attempt(
    answer: Answer,
    *,
    attempt: int,
    schedule: tuple[int, ...],
    health: SinkHealth,
    now: datetime,
    random: float,
) -> Next:
    """Return what follows the attempt with this number, from 1. random: between 0 and 1, for the jitter."""
    if answer.result is Result.DELIVERED:
        return Next(is_delivered=True)
    if answer.result is Result.OUTAGE:
        wait = timedelta(seconds=_OUTAGE_SECONDS * (1 - _JITTER + 2 * _JITTER * random))
        return Next(is_delivered=False, retry_at=now + wait, counts=False)
    disable = _reason_to_disable(answer, health, now)
    if attempt >= len(schedule) or answer.result is Result.REFUSED:
        return Next(is_delivered=False, disable=disable)
    wait = timedelta(seconds=schedule[attempt] * (1 - _JITTER + 2 * _JITTER * random))
    if answer.status in _ASK_LATER:
        wait = max(wait, wanted_wait(answer.retry_after, now))
    return Next(is_delivered=False, retry_at=now + wait, disable=disable)


def wanted_wait(retry_after: str, now: datetime) -> timedelta:
    """Return the wait of a Retry-After header, in seconds or as a date, at most a day (RFC 9110, 10.2.3)."""
    if retry_after.isascii() and retry_after.isdigit():
        seconds = min(int(retry_after[:9]), int(_LONGEST_WAIT.total_seconds()))
        return timedelta(seconds=seconds)
    try:
        moment = parsedate_to_datetime(retry_after)
    except (TypeError, ValueError, IndexError):
        return timedelta()
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(timedelta(), min(moment - now, _LONGEST_WAIT))


def _reason_to_disable(answer: Answer, health: SinkHealth, now: datetime) -> str:
    if answer.result in (Result.GONE, Result.TOPIC_MISSING):
        return answer.result.value
    is_failing = health.failures + 1 >= _FAILURES and now - health.last_success_at >= _FAILING_FOR
    return "failing" if is_failing else ""
