"""Recent changes in words."""

import pytest

from console.dashboard.changes import change_types, describe


@pytest.mark.parametrize(
    ("event_type", "data", "words"),
    [
        ("override.updated", {"resource_type": "task_resource"}, ("Override", "task_resource", "updated")),
        ("project.created", {"project": "ads"}, ("Project", "ads", "created")),
        ("role.bound", {"principal": "eve", "role": "admin"}, ("Role", "admin of eve", "bound")),
        ("fleet_guard.overruled", {"environment": ""}, ("Fleet guard", "the whole fleet", "overruled")),
        ("agent.lease_changed", {"name": "a1"}, ("Agent", "a1", "lease changed")),
        ("override_freeze.declared", {}, ("Freeze", "42", "declared")),
    ],
)
def test_an_event_is_a_change_in_words(event_type, data, words):
    change = describe(event_type, "42", data)

    assert (change.kind, change.subject, change.verb) == words


def test_states_of_agents_and_deliveries_are_no_changes():
    names = [
        "agent.unknown",
        "agent.draining",
        "sink.changed",
        "sink.delivery_retried",
        "pool.granted",
        "role.bound",
    ]

    assert change_types(names) == ["agent.draining", "sink.changed", "role.bound"]
