"""How requests reach an agent, in words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from registry.dispatch.delivery.messaging_conditions import Delivery, delivery_of, messaging_conditions

NOW = datetime(2026, 11, 27, tzinfo=UTC)


@dataclass(frozen=True)
class Row:
    channel: str = "nats"
    fetched_at: datetime | None = None
    has_consumer: bool = True
    is_listening: bool | None = True
    is_congested: bool = False
    pending_count: int = 0
    unacknowledged_count: int = 0
    checked_at: datetime | None = NOW


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (Row(), "NATS, waits for requests"),
        (
            Row(is_listening=False, unacknowledged_count=1, pending_count=2),
            "NATS, handles 1, with 2 in the queue",
        ),
        (Row(is_listening=False, pending_count=3), "NATS, fetches none of 3 in the queue"),
        (Row(is_listening=None), "NATS, not measured"),
        (Row(has_consumer=False), "not connected: no consumer in NATS, and nothing fetched by HTTPS"),
    ],
)
def test_what_was_measured_in_nats_is_told_with_its_time(row: Row, words: str) -> None:
    assert delivery_of(row) == Delivery(f"{words}, since", NOW)


def test_who_fetches_by_https_has_the_time_of_that() -> None:
    row = Row(channel="https", has_consumer=False, fetched_at=NOW - timedelta(seconds=3))

    assert delivery_of(row) == Delivery("HTTPS, fetched", NOW - timedelta(seconds=3))


def test_nothing_is_told_before_the_first_measurement() -> None:
    assert delivery_of(None) is None
    assert delivery_of(Row(checked_at=None)) is None


@pytest.mark.parametrize("row", [Row(), Row(is_listening=False), Row(is_listening=None, pending_count=3)])
def test_only_requests_that_nobody_fetches_are_a_condition(row: Row) -> None:
    assert messaging_conditions(row) == []
    (condition,) = messaging_conditions(replace(row, is_listening=False, pending_count=3))
    assert (condition["type"], condition["status"]) == ("Listening", "false")
