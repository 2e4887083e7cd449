"""What we accept as JSON: reliability.md 3.5."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.api.json_body import parse_json
from controlplane.errors import MalformedBody

harmless = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.text(st.characters(codec="utf-8", exclude_characters="\x00")),
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(st.text("abc", max_size=3), below, max_size=3)
    ),
    max_leaves=8,
)


@given(harmless)
def test_a_harmless_document_is_read_as_it_was_written(document):
    assert parse_json(json.dumps(document).encode()) == document


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b'{"a": 1,}',
        b"'a'",
        b"",
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": 1e999}',
        b'{"a": 1, "a": 2}',
        b'{"b": {"a": 1, "a": 1}}',
        b'"\\u0000"',
        b'{"a\\u0000": 1}',
        b'"\\ud800"',
        b"\xff\xfe",
        b"[" * 33 + b"]" * 33,
        b'{"a":' * 100 + b"1" + b"}" * 100,
        b"1" * 5000,
    ],
)
def test_what_is_not_plain_json_is_refused(body):
    with pytest.raises(MalformedBody):
        parse_json(body)


def test_thirty_two_levels_are_enough_and_allowed():
    assert parse_json(b"[" * 32 + b"]" * 32)


def test_brackets_in_strings_are_no_depth():
    text = '["\\"' * 20

    assert parse_json(json.dumps([text, "[" * 100]).encode()) == [text, "[" * 100]


@pytest.mark.parametrize("piece", [b'"', b'\\"', b'"\\', b'[""', b"[", b"{}"])
def test_a_hostile_megabyte_is_refused_in_linear_time(piece):
    body = piece * (1024 * 1024 // len(piece))
    began = time.process_time()

    with pytest.raises(MalformedBody):
        parse_json(body)

    # Quadratic scanning would take minutes.
    assert time.process_time() - began < 5
