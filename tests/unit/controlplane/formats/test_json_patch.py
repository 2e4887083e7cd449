"""JSON Patch: the examples of RFC 6902 appendix A, what is malformed, and laws."""

from __future__ import annotations

import contextlib
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.errors import InvalidRequest, PatchFailed
from controlplane.formats.json_patch import MAX_OPERATIONS, apply_patch, equal


def op(name: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": name, "path": path, **more}


def move(name: str, source: str, path: str) -> dict[str, Any]:
    return {"op": name, "from": source, "path": path}


WALDO = {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}}
MOVED = {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}}
TILDE = {"/": 9, "~1": 10}


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"foo": "bar"}, [op("add", "/baz", value="qux")], {"baz": "qux", "foo": "bar"}),
        ({"foo": ["bar", "baz"]}, [op("add", "/foo/1", value="qux")], {"foo": ["bar", "qux", "baz"]}),
        ({"baz": "qux", "foo": "bar"}, [op("remove", "/baz")], {"foo": "bar"}),
        ({"foo": ["bar", "qux", "baz"]}, [op("remove", "/foo/1")], {"foo": ["bar", "baz"]}),
        ({"baz": "qux", "foo": "bar"}, [op("replace", "/baz", value="boo")], {"baz": "boo", "foo": "bar"}),
        (WALDO, [move("move", "/foo/waldo", "/qux/thud")], MOVED),
        (
            {"foo": ["all", "grass", "cows", "eat"]},
            [move("move", "/foo/1", "/foo/3")],
            {"foo": ["all", "cows", "eat", "grass"]},
        ),
        (
            {"baz": "qux", "foo": ["a", 2, "c"]},
            [op("test", "/baz", value="qux"), op("test", "/foo/1", value=2)],
            {"baz": "qux", "foo": ["a", 2, "c"]},
        ),
        (
            {"foo": "bar"},
            [op("add", "/child", value={"grandchild": {}})],
            {"foo": "bar", "child": {"grandchild": {}}},
        ),
        ({"foo": "bar"}, [op("add", "/baz", value="qux", xyz=123)], {"foo": "bar", "baz": "qux"}),
        (TILDE, [op("test", "/~01", value=10)], TILDE),
        ({"foo": ["bar"]}, [op("add", "/foo/-", value=["abc", "def"])], {"foo": ["bar", ["abc", "def"]]}),
    ],
    ids=["A.1", "A.2", "A.3", "A.4", "A.5", "A.6", "A.7", "A.8", "A.10", "A.11", "A.14", "A.16"],
)
def test_the_examples_of_the_rfc_that_succeed(document, patch, expected):
    before = deepcopy(document)

    assert apply_patch(document, patch) == expected
    assert document == before


@pytest.mark.parametrize(
    ("document", "patch"),
    [
        ({"baz": "qux"}, [op("test", "/baz", value="bar")]),
        ({"foo": "bar"}, [op("add", "/baz/bat", value="qux")]),
        (TILDE, [op("test", "/~01", value="10")]),
    ],
    ids=["A.9", "A.12", "A.15"],
)
def test_the_examples_of_the_rfc_that_fail(document, patch):
    with pytest.raises(PatchFailed) as raised:
        apply_patch(document, patch)

    assert raised.value.errors[0].pointer.startswith("/0/")


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"a": 1}, [op("replace", "", value=[1])], [1]),
        ({"a": 1}, [op("add", "", value={"b": 2})], {"b": 2}),
        ([1, 2], [op("add", "/2", value=3)], [1, 2, 3]),
        ([1, 2], [op("replace", "/0", value=3)], [3, 2]),
        ({"a": {"b": 1}}, [move("copy", "/a", "/a/c")], {"a": {"b": 1, "c": {"b": 1}}}),
        ({"a": 1}, [move("move", "/a", "/a")], {"a": 1}),
        ({"": {"": 1}}, [op("replace", "//", value=2)], {"": {"": 2}}),
        ({"0": 1}, [op("replace", "/0", value=2)], {"0": 2}),
        ({"a": None}, [op("test", "/a", value=None), op("remove", "/a")], {}),
        ({"a": 1}, [], {"a": 1}),
    ],
)
def test_more_that_succeeds(document, patch, expected):
    assert apply_patch(document, patch) == expected


@pytest.mark.parametrize(
    "patch",
    [
        [op("remove", "/c")],
        [op("replace", "/c", value=1)],
        [op("add", "/list/3", value=1)],
        [op("add", "/list/01", value=1)],
        [op("add", "/list/-1", value=1)],
        [op("add", "/list/\u0661", value=1)],
        [op("remove", "/list/-")],
        [op("remove", "/list/2")],
        [op("add", "/text/0", value=1)],
        [op("test", "/c", value=None)],
        [move("copy", "/c", "/d")],
        [move("move", "/a", "/a/b")],
        [move("move", "/list/0", "/list/2")],
        [op("add", "/d", value=1), op("test", "/d", value=True)],
        [op("remove", "/a"), op("remove", "/a")],
    ],
    ids=str,
)
def test_what_does_not_fit_fails_and_changes_nothing(patch):
    document = {"a": {"x": 1}, "list": [1, 2], "text": "t"}
    before = deepcopy(document)

    with pytest.raises(PatchFailed):
        apply_patch(document, patch)

    assert document == before


@pytest.mark.parametrize(
    ("patch", "pointer"),
    [
        ({"op": "add"}, ""),
        (None, ""),
        ([op("remove", "/a")] * (MAX_OPERATIONS + 1), ""),
        (["add"], "/0"),
        ([op("delete", "/a")], "/0/op"),
        ([{"op": ["add"], "path": "/a", "value": 1}], "/0/op"),
        ([{"path": "/a", "value": 1}], "/0/op"),
        ([{"op": "add", "value": 1}], "/0/path"),
        ([op("add", "/a")], "/0/value"),
        ([op("test", "/a")], "/0/value"),
        ([op("move", "/a")], "/0/from"),
        ([op("add", "a", value=1)], "/0/path"),
        ([op("add", "/a~2", value=1)], "/0/path"),
        ([op("add", "/a~", value=1)], "/0/path"),
        ([op("add", 5, value=1)], "/0/path"),  # type: ignore[arg-type]
        ([move("copy", "x", "/a")], "/0/from"),
        ([op("remove", "")], "/0/path"),
        ([op("remove", "/missing"), op("nothing", "/a")], "/1/op"),
    ],
    ids=str,
)
def test_what_is_no_patch_says_where(patch, pointer):
    with pytest.raises(InvalidRequest) as raised:
        apply_patch({"a": 1}, patch)

    assert raised.value.errors[0].pointer == pointer


def test_copies_of_copies_are_stopped_before_they_fill_the_memory():
    doubling = [move("copy", "", f"/c{number}") for number in range(40)]

    with pytest.raises(PatchFailed, match="too many values"):
        apply_patch({"a": 1}, doubling)


def test_copies_into_themselves_are_stopped_before_they_are_too_deep():
    deepening = [move("copy", "/a", "/a" * number) for number in range(2, 60)]

    with pytest.raises(PatchFailed, match="too deep"):
        apply_patch({"a": {}}, deepening)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 1.0, 0.5]) | st.sampled_from("ab"),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from("ab/~"), below, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_equality_is_reflexive_and_tells_truth_from_one(value):
    assert equal(value, deepcopy(value))
    assert not equal([value, True], [value, 1])
    assert equal([value, 1], [value, 1.0])


@given(st.dictionaries(st.sampled_from("ab"), json_values, min_size=1), json_values, json_values)
def test_adding_and_removing_and_moving_there_and_back_are_nothing(document, value, other):
    added = apply_patch(document, [op("add", "/new~0~1", value=value), op("test", "/new~0~1", value=value)])
    name = next(iter(document))
    there_and_back = [move("move", f"/{name}", "/elsewhere"), move("move", "/elsewhere", f"/{name}")]

    assert added == {**document, "new~/": value}
    assert apply_patch(added, [op("remove", "/new~0~1")]) == document
    assert apply_patch(document, there_and_back) == document
    assert apply_patch(document, [op("replace", f"/{name}", value=other)]) == {**document, name: other}


@given(json_values, st.lists(st.sampled_from(["", "/a", "/0", "/a/b", "/-", "/~1"]), max_size=6), json_values)
def test_no_sequence_of_operations_breaks_the_document_that_was_given(document, paths, value):
    before = deepcopy(document)
    operations = [op(name, path, value=value, **{"from": "/a"}) for path in paths for name in ("add", "move")]

    with contextlib.suppress(PatchFailed):
        apply_patch(document, operations)
    assert equal(document, before)
