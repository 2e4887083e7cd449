"""What the relay decides without NATS: the bytes of messages, the size of batches, outage or refusal."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.messaging.envelope import Envelope, decode, encode, encode_with_data
from controlplane.messaging.nats_api import (
    changed_config,
    delivery,
    read_time,
    stream_config,
    unchangeable_difference,
)
from controlplane.messaging.nats_types import CANNOT_STORE, NO_STREAM, UNREACHABLE, StreamSpec, is_outage
from controlplane.messaging.relay import BatchSize

# Postgres stores all characters but NUL.
CHARACTERS = st.characters(codec="utf-8", exclude_characters="\0")
NAMES = st.text(CHARACTERS, min_size=1, max_size=20)
DATA = st.dictionaries(NAMES, st.text(CHARACTERS) | st.integers(-(2**40), 2**40) | st.none())


@settings(max_examples=30)
@given(NAMES, NAMES, DATA, st.none() | st.just(datetime(2026, 11, 22, 9, 30, 0, 120000, UTC)))
def test_both_ways_to_write_an_event_agree(
    name: str, kind: str, data: dict[str, object], time: datetime
) -> None:
    event = Envelope(name, "dcm/control-plane", kind, data, "dcm.agent.a", time)
    written = encode_with_data(event, json.dumps(data, separators=(",", ":"), ensure_ascii=False))
    assert written == encode(event)
    assert decode(written) == event


def test_batches_grow_while_nats_is_quick_and_shrink_when_it_is_not() -> None:
    size = BatchSize()
    for _ in range(10):
        size.note(size.value, 0.01)
    assert size.value == BatchSize.largest
    size.note(5, 0.01)
    size.note(size.value, 0.5)
    assert size.value == BatchSize.largest
    for _ in range(20):
        size.note(size.value, 3.0)
    assert size.value == BatchSize.smallest


def test_outages_and_refusals_differ() -> None:
    assert is_outage(UNREACHABLE)
    assert is_outage(NO_STREAM)
    assert is_outage(f"{CANNOT_STORE}insufficient storage resources available.")
    assert not is_outage("NATS refused the message: maximum messages per subject exceeded.")


def test_subjects_of_verdicts_have_two_forms() -> None:
    short = delivery("$JS.ACK.work.worker.2.17.9.1795339800123456789.4")
    long = delivery("$JS.ACK.hub.hash.work.worker.2.17.9.1795339800123456789.4.token")
    assert short == long
    assert short[:4] == ("work", "worker", 2, 17)
    assert short[4].microsecond == 123456


def test_times_of_nats_are_read_to_the_microsecond() -> None:
    expected = datetime(2026, 11, 22, 17, 23, 13, 880889, UTC)
    assert read_time("2026-11-22T17:23:13.880889123Z") == expected
    assert read_time("2026-11-22T18:23:13.880889+01:00") == expected
    assert read_time("2026-11-22T17:23:13Z") == expected.replace(microsecond=0)


def test_streams_get_more_copies_and_never_fewer() -> None:
    spec = StreamSpec("s", ("a",), "limits", replicas=3)
    one_copy = {**stream_config(spec), "num_replicas": 1}
    changed = changed_config(spec, one_copy)
    assert changed is not None
    assert changed["num_replicas"] == 3
    assert changed_config(spec, stream_config(spec)) is None
    assert changed_config(replace(spec, replicas=1), stream_config(spec)) is None


def test_limits_are_no_difference_and_subjects_are_in_any_order() -> None:
    spec = StreamSpec("s", ("a", "b"), "workqueue", discard="new", max_messages_per_subject=5)
    assert stream_config(spec)["discard_new_per_subject"] is True
    assert unchangeable_difference(spec, {"retention": "workqueue", "subjects": ["b", "a"]}) == ""
    assert "subjects are a" in unchangeable_difference(spec, {"retention": "workqueue", "subjects": ["a"]})
