"""When alerts become messages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from controlplane.delivery.filters import SinkFilter
from controlplane.notifications.quiet_hours import quiet_hours_from
from controlplane.notifications.rules import Mode, Rule
from controlplane.notifications.windows import Pending, first_level, next_escalation, plan, update_at

NOW = datetime(2026, 11, 22, 23, 0, tzinfo=UTC)
QUIET = quiet_hours_from({"tz": "UTC", "windows": [{"from": "22:00", "to": "07:00"}]})
CHANNELS = (UUID(int=1), UUID(int=2))


def rule(mode: Mode = Mode.EACH, **more) -> Rule:
    base = {"id": UUID(int=9), "name": "r", "created_by": UUID(int=8), "filter": SinkFilter()}
    return Rule(channels=CHANNELS, mode=mode, **base, **more)


def pending(number: int = 1, age: float = 0, recent: int = 0, sent: int = 0) -> Pending:
    sent_at = [NOW - timedelta(minutes=50 - index) for index in range(sent)]
    return Pending(number, NOW - timedelta(seconds=age), recent or number, sent_at)


@pytest.mark.parametrize(
    ("given", "waiting", "is_due", "as_one"),
    [
        (rule(Mode.PAGED), pending(), True, False),
        (rule(), pending(age=4), False, False),
        (rule(), pending(age=5), True, False),
        (rule(Mode.DIGEST), pending(age=59), False, True),
        (rule(Mode.DIGEST), pending(age=60), True, True),
        # A mass event, by its number or by what came shortly before.
        (rule(Mode.PAGED), pending(19), True, False),
        (rule(Mode.PAGED), pending(20), False, True),
        (rule(), pending(5, age=30, recent=25), False, True),
        (rule(), pending(5, age=60, recent=25), True, True),
        # Quiet hours hold everything but pages.
        (rule(quiet_hours=QUIET), pending(3, age=60), False, True),
        (rule(Mode.PAGED, quiet_hours=QUIET), pending(), True, False),
        # The limit of an hour.
        (rule(Mode.PAGED, max_per_hour=3), pending(sent=2), True, False),
        (rule(Mode.PAGED, max_per_hour=3), pending(sent=3), False, True),
        (rule(Mode.PAGED, max_per_hour=3), pending(2, sent=2), True, True),
    ],
)
def test_alerts_wait_or_go_alone_or_together(given, waiting, is_due, as_one):
    planned = plan(given, waiting, NOW)
    assert (planned.is_due, planned.as_one) == (is_due, as_one)


def test_quiet_hours_and_the_limit_say_when_messages_may_go():
    assert plan(rule(quiet_hours=QUIET), pending(), NOW).due_at == datetime(2026, 11, 23, 7, tzinfo=UTC)
    limited = plan(rule(Mode.PAGED, max_per_hour=3), pending(sent=3), NOW)
    assert limited.due_at == NOW + timedelta(minutes=10)


def test_escalation_goes_from_channel_to_channel():
    escalating = rule(escalate_after=timedelta(minutes=5))
    assert (first_level(escalating), first_level(rule())) == (0, 1)
    assert next_escalation(escalating, 0, NOW) == NOW + timedelta(minutes=5)
    assert next_escalation(escalating, 1, NOW) is None
    assert next_escalation(rule(), 0, NOW) is None


def test_an_end_is_told_at_once_and_a_change_not_too_often():
    assert update_at(NOW, NOW, firing=0) == NOW
    assert update_at(NOW, NOW, firing=1) == NOW + timedelta(seconds=30)
