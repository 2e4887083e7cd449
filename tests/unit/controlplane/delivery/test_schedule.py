from datetime import UTC, datetime, timedelta

import pytest

from controlplane.delivery.schedule import (
    STANDARD_SCHEDULE,
    Answer,
    Result,
    SinkHealth,
    after_attempt,
    result_of,
    wanted_wait,
)

NOW = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)
HEALTHY = SinkHealth(last_success_at=NOW, failures=0)


def following(answer, attempt=1, health=HEALTHY, random=0.5):
    return after_attempt(
        answer, attempt=attempt, schedule=STANDARD_SCHEDULE, health=health, now=NOW, random=random
    )


@pytest.mark.parametrize(
    ("status", "result"),
    [
        (200, Result.DELIVERED),
        (299, Result.DELIVERED),
        (301, Result.REDIRECT),
        (404, Result.CLIENT_ERROR),
        (410, Result.GONE),
        (500, Result.SERVER_ERROR),
    ],
)
def test_results(status, result):
    assert result_of(status) is result


def test_a_success_ends_the_delivery():
    then = following(Answer(Result.DELIVERED, 204))
    assert (then.is_delivered, then.is_dead, then.retry_at, then.disable) == (True, False, None, "")


def test_attempts_take_75_hours_and_35_minutes():
    waits = [
        following(Answer(Result.SERVER_ERROR, 500), attempt).retry_at - NOW
        for attempt in range(1, len(STANDARD_SCHEDULE))
    ]
    assert sum(waits, timedelta()) == timedelta(hours=75, minutes=35, seconds=5)
    assert following(Answer(Result.SERVER_ERROR, 500), len(STANDARD_SCHEDULE)).is_dead


@pytest.mark.parametrize(("random", "seconds"), [(0.0, 270), (1.0, 330)])
def test_waits_differ_by_a_tenth(random, seconds):
    then = following(Answer(Result.TIMEOUT), 2, random=random)
    assert then.retry_at == NOW + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("120", timedelta(minutes=2)),
        ("99999999999999999999", timedelta(hours=24)),
        ("Sun, 22 Nov 2026 10:30:00 GMT", timedelta(hours=1)),
        ("Sun, 22 Nov 2020 10:30:00 GMT", timedelta()),
        ("", timedelta()),
        ("soon", timedelta()),
        ("-5", timedelta()),
        ("²", timedelta()),
    ],
)
def test_retry_after(header, wait):
    assert wanted_wait(header, NOW) == wait


@pytest.mark.parametrize("status", [429, 503])
def test_an_endpoint_that_asks_to_wait_is_left_alone_so_long(status):
    answer = Answer(result_of(status), status, retry_after="3600")
    assert following(answer).retry_at == NOW + timedelta(hours=1)


def test_only_429_and_503_can_ask_to_wait():
    assert following(Answer(Result.SERVER_ERROR, 500, retry_after="3600")).retry_at == NOW + timedelta(
        seconds=5
    )


def test_410_switches_the_sink_off():
    assert following(Answer(Result.GONE, 410)).disable == "gone"


@pytest.mark.parametrize(
    ("days", "failures", "reason"), [(5, 9, "failing"), (5, 8, ""), (4.9, 500, ""), (6, 100, "failing")]
)
def test_five_days_without_a_success_and_ten_failures_switch_the_sink_off(days, failures, reason):
    health = SinkHealth(NOW - timedelta(days=days), failures)
    assert following(Answer(Result.CONNECTION), 3, health).disable == reason


def test_an_outage_of_a_broker_is_no_attempt_and_is_looked_at_again_soon():
    then = after_attempt(
        Answer(Result.OUTAGE), attempt=10, schedule=(0, 5), health=SinkHealth(NOW, 100), now=NOW, random=0.5
    )
    assert (then.counts, then.is_dead, then.disable) == (False, False, "")
    assert then.retry_at == NOW + timedelta(seconds=2)
