"""What a table shows, as the URL and the browser's memory want it."""

from __future__ import annotations

import pytest
from django.http import HttpResponse, QueryDict
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from console.listing import (
    COLUMNS_COOKIE,
    Column,
    Listing,
    chosen_columns,
    read_choices,
    read_listing,
    remember_columns,
    visible_columns,
    write_choices,
)

NAME = Column("name", "Name", order=("name", "id"), is_optional=False)
STATE = Column("state", "State")
AGE = Column("age", "Age", order=("-created_at", "-id"))
NOTE = Column("note", "Note", is_extra=True)
COLUMNS = (NAME, STATE, AGE, NOTE)
KEYS = st.lists(st.from_regex(r"[a-z_]{1,12}", fullmatch=True), min_size=1, max_size=6).map(tuple)


def listing(query: str, cookie: str = "", **more: object) -> Listing:
    request = RequestFactory(headers={"Cookie": f"{COLUMNS_COOKIE}={cookie}"} if cookie else {}).get(
        f"/x?{query}"
    )
    return read_listing(request, "things", "Things", COLUMNS, **more)  # type: ignore[arg-type]


def test_an_extra_column_waits_until_it_is_chosen() -> None:
    assert listing("").visible == ("name", "state", "age")
    assert listing("columns=note").visible == ("name", "note")


@pytest.mark.parametrize(
    "query", ["columns=state,note", "columns=state&columns=note", "columns=note&columns=state"]
)
def test_columns_stay_in_their_order_however_they_are_sent(query: str) -> None:
    assert listing(query).visible == ("name", "state", "note")


def test_the_url_has_precedence_over_the_memory_and_nothing_chosen_forgets() -> None:
    assert listing("", cookie="things:note").visible == ("name", "note")
    assert listing("columns=state", cookie="things:note").visible == ("name", "state")
    assert listing("columns=", cookie="things:note").visible == ("name", "state", "age")
    assert listing("", cookie="others:note").visible == ("name", "state", "age")


def test_unknown_columns_hide_nothing() -> None:
    assert listing("columns=nonsense").visible == ("name", "state", "age")


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("name", ("name", "id")),
        ("-name", ("-name", "-id")),
        ("age", ("-created_at", "-id")),
        ("-age", ("created_at", "id")),
        ("state", ()),
        ("nonsense", ()),
        ("--name", ()),
    ],
)
def test_the_order_is_of_a_column_that_has_one(sort: str, order: tuple[str, ...]) -> None:
    assert listing(f"sort={sort}").order == order


def test_the_own_order_has_an_arrow_too() -> None:
    shown = listing("", sort="-name")
    assert (shown.direction("name"), shown.direction("age")) == ("descending", "")
    assert listing("sort=age", sort="-name").direction("age") == "ascending"


def test_the_browser_remembers_only_what_was_chosen() -> None:
    request = RequestFactory().get("/x?columns=state")
    read_listing(request, "things", "Things", COLUMNS)
    assert remember_columns(request, HttpResponse()).cookies[COLUMNS_COOKIE].value == "things:state"

    without = RequestFactory().get("/x?columns=state")
    read_listing(without, "things", "Things", COLUMNS, has_chooser=False)
    assert not remember_columns(without, HttpResponse()).cookies


@given(st.dictionaries(st.from_regex(r"[a-z-]{1,12}", fullmatch=True), KEYS, max_size=20))
def test_what_is_remembered_is_read_again(choices: dict[str, tuple[str, ...]]) -> None:
    assert read_choices(write_choices(choices)) == choices


@given(st.text(max_size=200))
def test_any_cookie_is_read(cookie: str) -> None:
    for keys in read_choices(cookie).values():
        assert visible_columns(COLUMNS, keys)[0] == "name"


def test_a_cookie_keeps_a_bounded_number_of_tables() -> None:
    assert len(read_choices(write_choices({f"t{i}": ("a",) for i in range(100)}))) == 30


def test_columns_of_a_form_without_a_script() -> None:
    assert chosen_columns(QueryDict("columns=a,b&columns=c&columns=")) == ("a", "b", "c")
