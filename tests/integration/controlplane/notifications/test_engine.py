"""Events become alerts and messages: digest, retract, mass events, escalation, limits, permissions."""

from __future__ import annotations

import pytest

from controlplane.access.models import Principal
from controlplane.delivery.models import Delivery
from controlplane.notifications.alerts import acknowledge_message
from controlplane.notifications.models import Alert, NotificationMessage
from registry.agents.states import State
from tests.integration.controlplane.notifications.conftest import actor_of, messages, pass_time, report

pytestmark = pytest.mark.django_db(transaction=True)
FLEET = [f"agent-{number}" for number in range(1000)]


def test_a_thousand_silent_agents_are_one_message(make_channel, make_rule, office):
    make_rule(make_channel(), mode="digest")
    report(State.UNAVAILABLE, *FLEET)
    office.run()
    assert messages() == []
    pass_time(60)
    office.run()

    (message,) = messages()
    assert message["subject"] == "1000 × agent unavailable (prod)"
    assert message["text"].startswith("1000 of 1000 alerts of the rule agents are firing.")
    assert message["text"].endswith("- 980 more")
    assert Delivery.objects.get().state == "delivered"


def test_agents_that_are_back_inside_the_window_cause_no_message(make_channel, make_rule, office):
    make_rule(make_channel(), mode="digest")
    report(State.UNAVAILABLE, *FLEET)
    office.run()
    report(State.READY, *FLEET)
    pass_time(60)
    office.run()
    assert messages() == []
    assert set(Alert.objects.values_list("state", flat=True)) == {"suppressed"}


def test_a_mass_event_is_one_message_whatever_the_mode(make_channel, make_rule, office):
    make_rule(make_channel(), mode="paged")
    report(State.UNAVAILABLE, *FLEET[:20])
    office.run()
    pass_time(60)
    office.run()
    assert [message["total"] for message in messages()] == [20]


def test_each_alert_is_a_message_that_says_when_it_ends(make_channel, make_rule, office):
    make_rule(make_channel())
    report(State.UNAVAILABLE, "eu-1", "eu-2")
    office.run()
    pass_time(10)
    office.run()
    report(State.UNAVAILABLE, "eu-1")
    report(State.READY, "eu-1")
    office.run()

    steps = [(message["step"], message["subject"]) for message in messages()]
    assert steps == [
        ("trigger", "agent unavailable: eu-1"),
        ("trigger", "agent unavailable: eu-2"),
        ("resolve", "Resolved: agent unavailable: eu-1"),
    ]
    assert Alert.objects.get(object_id="eu-1").count == 2
    assert Alert.objects.get(object_id="eu-2").state == "firing"


def test_a_digest_is_changed_in_place_while_alerts_end_and_closed_after_the_last(
    make_channel, make_rule, office
):
    make_rule(make_channel(), mode="digest")
    report(State.UNAVAILABLE, "eu-1", "eu-2")
    office.run()
    pass_time(60)
    office.run()
    report(State.READY, "eu-1")
    office.run()
    assert len(messages()) == 1
    pass_time(60)
    office.run()
    report(State.READY, "eu-2")
    office.run()

    assert [(one["step"], one["firing"], one["revision"]) for one in messages()] == [
        ("trigger", 2, 0),
        ("update", 1, 1),
        ("resolve", 0, 2),
    ]
    assert len({one["message"] for one in messages()}) == 1


def test_an_alert_that_nobody_acknowledges_goes_to_the_next_channel(make_channel, make_rule, office, creator):
    first, second = make_channel(), make_channel("pagerduty")
    make_rule(first, second, mode="paged", escalate_seconds=300)
    report(State.UNAVAILABLE, "eu-1", "eu-2")
    office.run()
    assert {one["channel"] for one in messages()} == {str(first.id)}
    acknowledge_message(NotificationMessage.objects.get(alerts__object_id="eu-1"), actor=actor_of(creator))
    pass_time(301)
    office.run()

    to_second = [one for one in messages() if one["channel"] == str(second.id)]
    assert [(one["step"], one["subject"]) for one in to_second] == [("trigger", "agent unavailable: eu-2")]
    acknowledged = [one["subject"] for one in messages() if one["step"] == "acknowledge"]
    assert acknowledged == [f"Acknowledged by {creator.name}: agent unavailable: eu-1"]


def test_alerts_above_the_limit_per_hour_wait_and_are_one_message(make_channel, make_rule, office):
    make_rule(make_channel(), mode="paged", max_per_hour=2)
    for name in ("a", "b", "c", "d"):
        report(State.UNAVAILABLE, name)
        office.run()
    assert [one["total"] for one in messages()] == [1, 1]
    pass_time(3601)
    office.run()
    assert [one["total"] for one in messages()] == [1, 1, 2]


def test_a_rule_reports_what_its_creator_may_read(make_channel, make_rule, office, creator):
    make_rule(make_channel(), mode="paged")
    Principal.objects.filter(id=creator.id).update(is_active=False)
    report(State.UNAVAILABLE, "eu-1")
    office.run()
    assert not Alert.objects.exists()


def test_a_fact_that_nothing_ends_is_reported_each_time(make_channel, make_rule, office):
    make_rule(make_channel(), types=["agent.ready"], mode="paged")
    for _ in range(2):
        report(State.READY, "eu-1")
        office.run()
    assert [one["subject"] for one in messages()] == ["agent ready: eu-1"] * 2
