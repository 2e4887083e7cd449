"""YAML in and out: what is written reads back the same, and what is dangerous is refused with its place."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane import yaml_text
from controlplane.errors import MalformedBody

TRICKY = [
    "1",
    "1e3",
    "0o7",
    "0x1",
    "no",
    "on",
    "yes",
    "~",
    "null",
    "NaN",
    ".nan",
    ".inf",
    "1_000",
    "12:30",
    "=",
    "<<",
    "+",
    "-",
    ".",
    ".5",
    "+1",
    "2024-01-01",
    "true",
]
_text = st.one_of(
    st.sampled_from(TRICKY),
    st.text(alphabet="ab01 \n\t:-#é\u2028'\"|>%@&*!?{}[],\x85\U0001f600", max_size=12),
)
_values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), _text
    ),
    lambda below: st.one_of(st.lists(below, max_size=3), st.dictionaries(_text, below, max_size=3)),
    max_leaves=8,
)


@given(st.dictionaries(_text, _values, max_size=4))
def test_what_is_written_reads_back_the_same(document):
    assert yaml_text.load(yaml_text.dump(document)) == document


@given(st.lists(st.dictionaries(_text, _values, min_size=1, max_size=2), min_size=1, max_size=4))
def test_a_stream_of_documents_reads_back_the_same(documents):
    assert yaml_text.load_all(yaml_text.dump_all(documents)) == documents


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), _values, min_size=1, max_size=4))
def test_every_value_has_a_place_in_the_text(document):
    text = yaml_text.dump(document)
    (places,) = yaml_text.positions(text)

    def pointers(value: Any, at: str) -> list[str]:
        members = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        )
        below = [
            one
            for name, member in members
            for one in pointers(member, f"{at}/{str(name).replace('~', '~0').replace('/', '~1')}")
        ]
        return [at, *below]

    assert set(places) == set(pointers(document, ""))
    lines = re.split("[\n\x85\u2028]", text)
    assert all(1 <= line <= len(lines) + 1 and column >= 1 for line, column in places.values())


def test_yaml_1_2_is_meant():
    text = "a: no\nb: on\nc: 012\nd: 0o14\ne: 1e3\nf: ~\ng: 1_0\nh: 12:30:45\ni: 'true'\nj: TRUE\n"

    assert yaml_text.load(text) == {
        "a": "no",
        "b": "on",
        "c": 12,
        "d": 12,
        "e": 1000.0,
        "f": None,
        "g": "1_0",
        "h": "12:30:45",
        "i": "true",
        "j": True,
    }


def test_json_is_yaml():
    assert yaml_text.load('{"a": [1, 2.5, null, "x\\ny"], "b": {"c": false}}') == {
        "a": [1, 2.5, None, "x\ny"],
        "b": {"c": False},
    }


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("a: &x 1", 1, 4, "Anchors"),
        ("a: 1\nb: *x", 2, 4, "Aliases"),
        ("a: !!int 3", 1, 4, "Tags"),
        ("a: !x {}", 1, 4, "Tags"),
        ("a: 1\nb:\n  c: 1\n  c: 2", 4, 3, "twice"),
        ("<<: {a: 1}", 1, 1, "Merge keys"),
        ("? [a]\n: b", 1, 3, "name must be a text"),
        ("a: " + "[" * 40, 1, 35, "deeper"),
        ("[" * 100_000, 1, 33, "deeper"),
        ("a: 1e999", 1, 4, "too large"),
        ("a: .inf", 1, 4, "JSON"),
        ("a: b: c", 1, 5, "not YAML"),
        ("a: [1", 2, 1, "not YAML"),
        ('a: "\\0"', 1, 4, "NUL"),
    ],
)
def test_what_is_dangerous_or_wrong_is_refused_with_its_place(text, line, column, words):
    with pytest.raises(MalformedBody) as raised:
        yaml_text.load(text)

    (error,) = raised.value.errors
    assert words in error.message
    assert (error.line, error.column) == (line, column)


def test_a_control_character_is_refused():
    with pytest.raises(MalformedBody):
        yaml_text.load("a: \x00")


@pytest.mark.parametrize("text", ["", "---\n---\n", "# nothing\n"])
def test_nothing_is_no_document(text):
    assert yaml_text.load_all(text) == []
