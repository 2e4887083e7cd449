"""Selecting fields of items: `only` and `omit`, with dotted paths."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.api.field_selection import FieldSelection, read_selection
from controlplane.errors import InvalidRequest

ITEM = {
    "name": "a1",
    "scope": {"project": "ads", "domain": ""},
    "providers": [{"name": "vm", "state": "ready"}, {"name": "db", "state": "lost"}],
    "labels": None,
}


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
        # A part that an item does not have is no mistake: objects differ.
        ("scope.nothing", "", {"scope": {}}),
        ("name", "name", {}),
    ],
)
def test_fields_are_kept_and_left_out(only: str, omit: str, expected: dict[str, Any]) -> None:
    assert read_selection(only, omit).of(ITEM) == expected


@pytest.mark.parametrize(("only", "omit", "pointer"), [("nam", "", "?only"), ("name", "labls", "?omit")])
def test_a_field_that_items_do_not_have_is_named_with_the_nearest(only: str, omit: str, pointer: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_selection(only, omit).of(ITEM)

    (error,) = refused.value.errors
    assert (error.pointer, error.allowed) == (pointer, tuple(ITEM))
    assert error.hint in ("Did you mean 'name'?", "Did you mean 'labels'?")


def test_too_many_fields_are_refused() -> None:
    with pytest.raises(InvalidRequest):
        read_selection(",".join("abc" for _ in range(51)), "")


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
