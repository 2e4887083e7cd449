"""Selecting fields of items: `view`, and `only` and `omit` with dotted paths."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.api.field_selection import BASIC, FULL, FieldSelection, Kind, Shape, read_selection
from controlplane.errors import InvalidRequest

ITEM = {
    "name": "a1",
    "scope": {"project": "ads", "domain": ""},
    "providers": [{"name": "vm", "state": "ready"}, {"name": "db", "state": "lost"}],
    "labels": None,
}
VALUE = Shape()
SHAPE = Shape(
    Kind.OBJECT,
    {
        "name": VALUE,
        "scope": Shape(Kind.OBJECT, {"project": VALUE, "domain": VALUE}),
        "providers": Shape(Kind.LIST, {"name": VALUE, "state": VALUE}),
        "labels": Shape(Kind.MAP),
    },
)


@pytest.mark.parametrize(
    ("only", "omit", "expected"),
    [
        ("", "", ITEM),
        ("name", "", {"name": "a1"}),
        (" name , labels ", "", {"name": "a1", "labels": None}),
        ("scope.project", "", {"scope": {"project": "ads"}}),
        ("scope.project,scope", "", {"scope": ITEM["scope"]}),
        ("providers.name", "", {"providers": [{"name": "vm"}, {"name": "db"}]}),
        ("name,scope", "scope.domain", {"name": "a1", "scope": {"project": "ads"}}),
        ("", "providers,labels,scope", {"name": "a1"}),
        ("", "providers.state,labels,scope", {"name": "a1", "providers": [{"name": "vm"}, {"name": "db"}]}),
        # What a map holds is not in the schema: a part that an item does not have is no mistake there.
        ("labels.team", "", {"labels": None}),
        ("name", "name", {}),
    ],
)
def test_fields_are_kept_and_left_out(only: str, omit: str, expected: dict[str, Any]) -> None:
    assert read_selection(only, omit, FULL, SHAPE).of(ITEM) == expected


@pytest.mark.parametrize(
    ("only", "omit", "pointer", "hint", "allowed"),
    [
        ("nam", "", "?only", "Did you mean 'name'?", ("name", "scope", "providers", "labels")),
        ("name", "labls", "?omit", "Did you mean 'labels'?", ("name", "scope", "providers", "labels")),
        ("scope.projekt", "", "?only", "Did you mean 'scope.project'?", ("scope.project", "scope.domain")),
        (
            "",
            "providers.stat",
            "?omit",
            "Did you mean 'providers.state'?",
            ("providers.name", "providers.state"),
        ),
        ("name.first", "", "?only", "", ()),
    ],
)
def test_a_field_that_items_do_not_have_is_named_with_the_nearest(
    only: str, omit: str, pointer: str, hint: str, allowed: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_selection(only, omit, FULL, SHAPE)

    (error,) = refused.value.errors
    assert (error.pointer, error.hint, error.allowed) == (pointer, hint, allowed)


def test_all_unknown_fields_are_named_at_once() -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_selection("nam,name,scope.nothing", "x", FULL, SHAPE)

    assert [error.pointer for error in refused.value.errors] == ["?only", "?only", "?omit"]


def test_too_many_fields_are_refused() -> None:
    with pytest.raises(InvalidRequest):
        read_selection(",".join("name" for _ in range(51)), "", FULL, SHAPE)


@pytest.mark.parametrize(
    ("only", "omit", "expected"),
    [
        ("", "", {"name": "a1", "scope": ITEM["scope"]}),
        ("", "scope.domain", {"name": "a1", "scope": {"project": "ads"}}),
        ("labels", "", {"labels": None}),
    ],
)
def test_the_basic_view_leaves_out_lists_and_maps(only: str, omit: str, expected: dict[str, Any]) -> None:
    assert read_selection(only, omit, BASIC, SHAPE).of(ITEM) == expected


NAMES = st.sampled_from(["a", "b", "c"])
ITEMS = st.dictionaries(NAMES, st.recursive(st.integers(), lambda below: st.dictionaries(NAMES, below)))


@given(ITEMS, st.data())
def test_only_and_omit_share_an_item_out(item: dict[str, Any], data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(item)), unique=True)) if item else []
    paths = tuple((name,) for name in names)

    kept = FieldSelection(only=paths).of(item) if paths else {}
    left = FieldSelection(omit=paths).of(item)

    assert {**kept, **left} == item
    assert kept.keys().isdisjoint(left)
