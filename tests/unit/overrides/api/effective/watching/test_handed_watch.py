"""What a view hands over, and the text of a stream."""

from __future__ import annotations

import pytest

from controlplane.scopes import Scope
from overrides.api.effective.watching.handed_watch import (
    HandedWatch,
    effective_events,
    event_id,
    revision_of,
    watch_from,
)
from overrides.api.effective.watching.topics import TopicKey

WATCH = HandedWatch(
    "ann", ((Scope("d", "p", "w", "café"), '"1"'), (Scope(), '"2"')), 41, "t", "ab12", 30, "native"
)


@pytest.mark.parametrize("watch", [WATCH, HandedWatch("ann", None), HandedWatch("ann", ())])
def test_a_watch_survives_its_header(watch):
    assert watch.header().isascii()
    assert watch_from(watch.header().encode()) == watch


def test_the_topics_of_a_watch():
    assert WATCH.topics() == {
        TopicKey(Scope("d", "p", "w", "café"), "t", "native"): b'"1"',
        TopicKey(Scope(), "t", "native"): b'"2"',
    }
    assert HandedWatch("ann", None).topics() == {}


def test_only_bookmarks_have_ids():
    assert effective_events([b"{}", b"[]"], 41, "ab") == (
        b"event: effective\ndata: {}\n\nevent: effective\ndata: []\n\n"
        b'id: 41-ab\nevent: bookmark\ndata: {"revision":41}\n\n'
    )


@pytest.mark.parametrize("defaults", ["", "ab12"])
def test_an_id_names_its_revision(defaults):
    assert revision_of(event_id(41, defaults), defaults) == 41


@pytest.mark.parametrize(("text", "defaults"), [("41", "ab12"), ("41-ab12", ""), ("41-ab12", "cd")])
def test_with_other_platform_defaults_everything_may_differ(text, defaults):
    assert revision_of(text, defaults) is None


@pytest.mark.parametrize("text", ["x", "-1", "41-XYZ", "41 ", "٤", "9" * 19])
def test_other_ids_are_refused(text):
    with pytest.raises(ValueError, match=r".*"):
        revision_of(text, "")
