"""CloudEvents: written exactly, read leniently."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from controlplane.messaging.envelope import Envelope, InvalidEnvelope, decode, encode, read_time

EVENT: dict[str, Any] = {
    "specversion": "1.0",
    "id": "e1",
    "source": "dcm/agents/alpha",
    "type": "dcm.agent.error",
    "data": {"resource_id": "web"},
}


def test_what_is_written_can_be_read() -> None:
    event = Envelope(
        "e1", "us", "dcm.request.create", {"ä": 1}, "dcm.agent.x", datetime(2026, 1, 1, tzinfo=UTC)
    )
    assert decode(encode(event)) == event
    assert encode(event) == encode(event)
    assert json.loads(encode(event))["time"] == "2026-01-01T00:00:00Z"


def test_unknown_members_and_missing_times_are_no_hindrance() -> None:
    read = decode(json.dumps({**EVENT, "traceparent": "00-1", "time": "yesterday"}).encode())
    assert (read.id, read.time, read.data) == ("e1", None, {"resource_id": "web"})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": ""}, "It lacks id."),
        ({"type": 7, "source": None}, "It lacks source, type."),
        ({"data": []}, "Its data is not an object."),
    ],
)
def test_what_is_no_event_says_why(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidEnvelope, match=message):
        decode(json.dumps({**EVENT, **change}).encode())


@pytest.mark.parametrize("body", [b"", b"\xff", b"[]", b"{", b'{"data":{"x":"\\u0000"}}', b"[" * 40])
def test_what_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidEnvelope):
        decode(body)


@pytest.mark.parametrize(
    "text",
    ["0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-14:00", "2026-01-01", None, 7],
)
def test_a_time_that_no_clock_shows_is_none(text: object) -> None:
    """One before the first year cannot be read from Postgres, and would block its resource for ever."""
    assert read_time(text) is None
