"""Lists that are printed page by page say the same as lists that are printed at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cpctl.columns import field
from cpctl.output import Format, as_csv, as_json, as_yaml, table
from cpctl.page_output import chunks, first_and_rest

COLUMNS = (field("NAME"), field("NOTE", wide=True))
_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_items = st.fixed_dictionaries({"name": st.text(max_size=10), "note": _value})
_pages = st.lists(st.lists(_items, max_size=4), max_size=4)


def text(pages: list[list[Any]], how: Format, *, headers: bool = True) -> str:
    return "".join(chunks(COLUMNS, pages, how=how, name_of=lambda item: repr(item["name"]), headers=headers))


@given(_pages)
def test_whatever_the_pages_the_text_is_that_of_the_whole(pages):
    items = [item for page in pages for item in page]

    assert text(pages, Format.JSON) == as_json({"items": items}) + "\n"
    assert text(pages, Format.YAML) == as_yaml({"items": items}) + "\n"
    assert text(pages, Format.NAME) == "".join(f"{item['name']!r}\n" for item in items)
    csv = "".join(f"{line}\n" for line in as_csv(COLUMNS, items, headers=False))
    assert text(pages, Format.CSV, headers=False) == csv


def test_the_first_page_of_a_table_decides_the_widths_and_titles_come_once():
    pages = [[{"name": "ab"}], [{"name": "c"}, {"name": "longer"}]]

    assert text(pages, Format.TABLE).splitlines() == ["NAME", "ab", "c", "longer"]
    assert text(pages, Format.WIDE).splitlines()[0] == "NAME   NOTE"
    assert text(pages[:1], Format.WIDE).splitlines() == table(COLUMNS, pages[0])


def test_what_is_picked_out_is_picked_out_of_all_pages():
    how = Format("count", lambda value: [str(len(value["items"]))])

    assert text([[{"name": "a"}], [{"name": "b"}]], how) == "2\n"


def test_a_page_is_printed_before_the_next_is_asked_for():
    numbers: list[int] = []

    def pages() -> Iterator[list[Any]]:
        for number in range(3):
            numbers.append(number)
            yield [{"name": str(number)}]

    first, coming = first_and_rest(pages())
    printed = chunks(COLUMNS, coming, how=Format.TABLE, name_of=lambda item: str(item["name"]))

    assert (first, numbers) == ([{"name": "0"}], [0])
    assert next(printed) == "NAME\n0\n"
    assert numbers == [0]
    assert [next(printed), numbers] == ["1\n", [0, 1]]
