"""What fails for one rule stops no other, is logged once a minute, and writes nothing by half."""

from __future__ import annotations

import logging
from uuid import uuid4

import pytest
from django.db import OperationalError

from controlplane.notifications import isolation, publishing, raising
from controlplane.notifications.models import Alert, NotificationMessage, NotificationRule
from registry.agents.states import State
from tests.integration.controlplane.notifications.conftest import messages, pass_time, report

pytestmark = pytest.mark.django_db(transaction=True)
# As after an update of the system's time zones.
GONE = {"tz": "Europe/Nowhere", "windows": [{"days": ["mon"], "from": "22:00", "to": "06:00"}]}


@pytest.fixture(autouse=True)
def _nothing_logged_yet():
    isolation._logged_at.clear()


def break_rule(rule: NotificationRule) -> None:
    NotificationRule.objects.filter(id=rule.id).update(quiet_hours=GONE)


def rules_of_messages() -> list[str]:
    return [message["rule"] for message in messages()]


def test_a_rule_that_cannot_be_read_stops_no_other(make_channel, make_rule, office, caplog):
    channel = make_channel()
    broken = make_rule(channel, name="broken")
    make_rule(channel, name="sound")
    break_rule(broken)
    with caplog.at_level(logging.ERROR):
        report(State.UNAVAILABLE, "eu-1")
        office.run()
        pass_time(10)
        office.run()
    assert rules_of_messages() == ["sound"]
    lines = [record.getMessage() for record in caplog.records if str(broken.id) in record.getMessage()]
    assert len(lines) == 1
    assert lines[0].endswith("correct or delete this one.")


def test_an_event_that_a_rule_cannot_describe_is_reported_by_the_others(
    make_channel, make_rule, office, monkeypatch
):
    channel = make_channel()
    broken = make_rule(channel, name="broken")
    make_rule(channel, name="sound")
    describe = raising.occurrence_of

    def fail_for_one(rule, event, defaults):
        if rule.id == broken.id:
            raise RecursionError
        return describe(rule, event, defaults)

    monkeypatch.setattr(raising, "occurrence_of", fail_for_one)
    report(State.UNAVAILABLE, "eu-1")
    office.run()
    pass_time(10)
    office.run()
    assert rules_of_messages() == ["sound"]
    assert set(Alert.objects.values_list("rule__name", flat=True)) == {"sound"}


def test_a_message_that_cannot_be_made_leaves_nothing_behind_and_is_made_later(
    make_channel, make_rule, office, monkeypatch
):
    channel = make_channel()
    broken = make_rule(channel, name="broken")
    make_rule(channel, name="sound")
    send = publishing.send_revision

    def fail_for_one(message, *arguments):
        if message.rule_id == broken.id:
            raise ValueError("no text")
        send(message, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(publishing, "send_revision", fail_for_one)
        report(State.UNAVAILABLE, "eu-1")
        office.run()
        pass_time(10)
        office.run()
        assert rules_of_messages() == ["sound"]
        assert not NotificationMessage.objects.filter(rule=broken.id).exists()
    office.run()
    assert rules_of_messages() == ["sound", "broken"]


def test_an_update_that_fails_is_put_off_for_a_minute(make_channel, make_rule, office):
    channel = make_channel()
    broken = make_rule(channel, name="broken")
    make_rule(channel, name="sound")
    report(State.UNAVAILABLE, "eu-1")
    office.run()
    pass_time(10)
    office.run()
    break_rule(broken)
    NotificationMessage.objects.update(update_at="2026-01-01T00:00Z", escalate_at="2026-01-01T00:00Z")
    report(State.READY, "eu-1")
    office.run()

    put_off, sound = (NotificationMessage.objects.get(rule__name=name) for name in ("broken", "sound"))
    assert not put_off.is_closed
    assert min(put_off.update_at, put_off.escalate_at) > sound.last_sent_at
    assert put_off.revision == 0
    assert sound.is_closed


def test_an_outage_of_the_database_is_no_fault_of_a_rule():
    def lose_connection():
        raise OperationalError("the connection is closed")

    with pytest.raises(OperationalError):
        isolation.decide_alone(uuid4(), lose_connection)
