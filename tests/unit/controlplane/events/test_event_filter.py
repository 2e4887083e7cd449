"""What a watcher wants, and events as text."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from controlplane.events.event_filter import EVERYTHING, EventFilter, EventRight
from controlplane.events.stream_protocol import StreamedEvent, Watch, as_text, bookmark, watch_from
from controlplane.scopes import Scope

HERE = Scope(project="p", domain="d")


def told(**more: object) -> StreamedEvent:
    facts: dict = {
        "seq": 1,
        "type": "a.b",
        "object_type": "agent",
        "object_id": "x",
        "scope": HERE,
        "teams": (),
        "text": b"",
    }
    return StreamedEvent(**(facts | more))


def sight(*scopes: Scope, hidden: frozenset[str] = frozenset()) -> EventFilter:
    return EventFilter((EventRight(frozenset({"a.b"}), scopes),), hidden)


def test_a_watcher_hears_what_it_asked_for_below_where_it_may_read():
    own_sight = sight(Scope(project="p"))
    watch = Watch(0, "me", own_sight, type="a.b", object_type="agent", object_id="x")

    assert watch.wants(told())
    assert not watch.wants(told(type="a.c"))
    assert not watch.wants(told(object_type="project"))
    assert not watch.wants(told(object_id="y"))
    assert not watch.wants(told(scope=Scope(project="q")))
    assert not watch.wants(told(scope=Scope()))
    assert Watch(0, "me", EVERYTHING).wants(told())
    assert not Watch(0, "me", EventFilter()).wants(told())


def test_a_watcher_hears_neither_other_types_nor_hidden_teams():
    watch = Watch(0, "me", sight(Scope(), hidden=frozenset({"rival"})))

    assert watch.wants(told(teams=("ours",)))
    assert not watch.wants(told(teams=("ours", "rival")))
    assert not watch.wants(told(type="token.created"))


def test_a_watch_survives_its_header():
    own_sight = sight(HERE, Scope(), hidden=frozenset({"rival"}))
    watch = Watch(7, "me", own_sight, object_id="ü/1\n", wait=3)

    assert watch_from(watch.header().encode("latin-1")) == watch


@given(st.dictionaries(st.text(), st.text()))
def test_an_event_is_one_data_line_whatever_it_says(data):
    lines = as_text(7, "a.b", data).decode().split("\n")

    assert (lines[0], lines[1], lines[3:]) == ("id: 7", "event: a.b", ["", ""])
    assert json.loads(lines[2].removeprefix("data: ")) == data


def test_a_bookmark_moves_the_client_on():
    assert bookmark(9) == b'id: 9\nevent: bookmark\ndata: {"seq":9}\n\n'
