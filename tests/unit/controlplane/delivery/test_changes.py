from __future__ import annotations

from controlplane.delivery.changes import MOST_BYTES, Change, described, with_change
from controlplane.delivery.cloudevents import Origin
from tests.unit.controlplane.delivery.events import logged_event

HERE = Origin("https://cp.example.com")


def test_a_large_change_is_a_link():
    event = with_change(logged_event(), Change(None, {"text": "x" * MOST_BYTES}), HERE)
    assert set(event.change) == {"cause", "truncated", "audit"}
    assert event.change["audit"].startswith("https://cp.example.com/api/v1/audit?object_type=")


def test_the_data_of_a_type_goes_before_the_change():
    event = with_change(logged_event(data={"before": "own"}), Change({"audit": 1}, None), HERE)
    assert event.whole_data["before"] == "own"
    assert event.whole_data["after"] is None


def test_a_schema_describes_what_is_added():
    schema = described({"type": "object", "properties": {"before": {"const": 1}}})
    assert schema["properties"]["before"] == {"const": 1}
    assert schema["properties"]["cause"]["required"] == ["kind"]
