"""Orders of several keys: each column once, in a direction of its own, and total."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.api.sort_keys import SortKeys

KEYS = SortKeys(
    {"name": ("name",), "team": ("team",), "place": ("room", "shelf"), "age": ("age",)},
    tie_break=("id",),
    unique=(("room", "shelf"),),
)
COLUMNS = {"id", "name", "team", "room", "shelf", "age"}
ROWS = st.lists(
    st.fixed_dictionaries({column: st.integers(0, 2) for column in sorted(COLUMNS - {"id"})}),
    max_size=9,
    unique_by=lambda row: (row["room"], row["shelf"]),
).map(lambda rows: [{**row, "id": number} for number, row in enumerate(rows)])
SORTS = st.lists(
    st.tuples(st.sampled_from(["", "-"]), st.sampled_from([*KEYS.columns])).map("".join),
    min_size=1,
    max_size=5,
)


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("name", ("name", "id")),
        ("-name", ("-name", "-id")),
        ("team,-name", ("team", "-name", "-id")),
        (" -team , name", ("-team", "name", "id")),
        ("name,-name,name", ("name", "id")),
        ("age,-place,name", ("age", "-room", "-shelf")),
    ],
)
def test_an_order_has_each_column_once_and_ends_when_it_is_total(sort: str, order: tuple[str, ...]) -> None:
    assert KEYS.order(sort) == order


@pytest.mark.parametrize("sort", ["", "nme", "name,", "--name", "name,-", "id", "place,nme"])
def test_an_unknown_key_is_an_error(sort: str) -> None:
    with pytest.raises(LookupError):
        KEYS.order(sort)


@given(ROWS, SORTS)
def test_the_order_sorts_as_its_keys_do(rows: list[dict[str, Any]], sort: list[str]) -> None:
    expected = rows
    for key in reversed(sort):
        for column in reversed(KEYS.columns[key.removeprefix("-")]):
            expected = sorted(expected, key=lambda row: row[column], reverse=key.startswith("-"))
    ordered = rows
    for column in reversed(KEYS.order(",".join(sort))):
        ordered = sorted(
            ordered, key=lambda row: row[column.removeprefix("-")], reverse=column.startswith("-")
        )

    def keys_of(row: dict[str, Any]) -> list[int]:
        return [row[column] for key in sort for column in KEYS.columns[key.removeprefix("-")]]

    assert [keys_of(row) for row in ordered] == [keys_of(row) for row in expected]
