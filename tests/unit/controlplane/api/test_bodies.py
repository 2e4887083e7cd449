"""What we accept as JSON: reliability.md 3.5."""

import json
import time
from functools import partial

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from controlplane.errors import MalformedBody
from controlplane.formats import strict_json

parse_json = partial(strict_json.parse_json, max_depth=32)
parse_exactly = partial(strict_json.parse_exactly, max_depth=32)

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


# JSON as people send it, and as nobody should: written by hand, for what `json.dumps` never writes.
_numbers = ["0", "-0", "-0.0", "1.0", "1.10", "1e5", "1E999", "12345678901234567890123", "0.1", "NaN", "01"]
_texts = ["a", "b", "", "é", "\\n", "\\/", "\\u00e9", "\\u0000", "\\ud800", "\\ud83d\\ude00", "\x01", "\x7f"]
_strings = st.sampled_from(_texts).map(lambda text: f'"{text}"')
_spaced = st.sampled_from([",", " , ", ",\n"])


def _container(opening, items, closing):
    return st.builds(
        lambda space, below: opening + space.join(below) + closing, _spaced, st.lists(items, max_size=3)
    )


written = st.recursive(
    st.sampled_from([*_numbers, "true", "null"]) | _strings,
    lambda below: (
        _container("[", below, "]")
        | _container("{", st.builds(lambda name, value: f"{name}:{value}", _strings, below), "}")
    ),
    max_leaves=8,
)


def read(parse, body):
    """What comes of it, with 1 and 1.0 and true told apart."""
    try:
        return repr(parse(body))
    except MalformedBody as error:
        return error.detail


@given(written, st.sampled_from([0, 28, 31, 32, 33]))
def test_the_quick_way_reads_and_refuses_as_the_exact_one_does(text, depth):
    body = ("[" * depth + text + "]" * depth).encode()
    exact = read(parse_exactly, body)

    event("refused" if "[" not in exact else "read")
    assert read(parse_json, body) == exact


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
    assert time.process_time() - began < 60


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"1," * 2_000_000 + b"1]",
        b"[" + b"[]," * 2_000_000 + b'"\\u00e9"]',
        b"{" + b",".join(b'"k%d":{}' % number for number in range(600_000)) + b"}",
    ],
    ids=range(3),
)
def test_too_many_values_are_refused_by_count(body):
    with pytest.raises(MalformedBody, match="more than 500000 values"):
        parse_json(body)


def test_commas_in_texts_are_no_values():
    assert parse_json(b'["' + b",[{" * 400_000 + b'"]') == [",[{" * 400_000]
