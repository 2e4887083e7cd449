import json
import re
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.delivery.cloudevents import Origin, attributes, binary, structured
from tests.unit.controlplane.delivery.events import logged_event

ORIGIN = Origin("https://cp.example.com/")


def test_an_event_in_structured_mode():
    assert json.loads(structured(logged_event(), ORIGIN)) == {
        "specversion": "1.0",
        "id": "019a9f5e-7c00-7000-8000-000000000021",
        "source": "//cp.example.com/controlplane",
        "type": "dev.controlplane.agent.unavailable.v1",
        "subject": "agent/eu-1",
        "time": "2026-11-22T09:30:00.000001Z",
        "datacontenttype": "application/json",
        "dataschema": "https://cp.example.com/api/v1/event-types/agent.unavailable/schema?v=1",
        "cpseq": "4711",
        "cpactor": "system:sweep",
        "cprequestid": "req-1",
        "cpteam": "eu",
        "partitionkey": "agent/eu-1",
        "sequence": "00000000000000004711",
        "data": dict(logged_event().data),
    }


def test_attributes_that_have_no_value_are_absent():
    event = logged_event(team="", request_id="")
    assert {"cpteam", "cprequestid"}.isdisjoint(attributes(event, ORIGIN))


def test_a_source_of_the_settings():
    assert attributes(logged_event(), Origin("https://x", "urn:cp:1"))["source"] == "urn:cp:1"


def test_large_data_becomes_a_reference_only_if_that_is_wanted():
    event = logged_event(data={"text": "x" * 20_000})
    assert json.loads(structured(event, ORIGIN))["data"] == event.data
    shortened = json.loads(structured(event, ORIGIN, most_bytes=20_000))
    assert shortened["data"] == {"ref": "https://cp.example.com/api/v1/events?after=4710&limit=1"}


@pytest.mark.parametrize("name", attributes(logged_event(), ORIGIN))
def test_names_of_attributes_are_valid(name):
    assert re.fullmatch("[a-z0-9]{1,20}", name)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40))
def test_binary_mode_carries_every_object_id_through_ascii_headers(object_id):
    event = logged_event(object_id=object_id)
    headers, body = binary(event, ORIGIN, prefix="ce-")
    assert json.loads(body) == event.data
    assert headers["content-type"] == "application/json"
    assert all(re.fullmatch(r"[\x21-\x7e]+", value) for value in headers.values())
    assert unquote(headers["ce-partitionkey"]) == f"agent/{object_id}"
    assert unquote(unquote(headers["ce-subject"])) == f"agent/{object_id}"
