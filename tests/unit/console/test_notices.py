"""Notices fold into one, and states have one vocabulary."""

from __future__ import annotations

import pytest

from console.navigation import Entry, Section, place
from console.notices import Notice, fold
from console.state_words import state_word, vocabulary


def test_the_worst_notice_is_shown_and_the_others_keep_their_order() -> None:
    notices = [Notice("a", tone="info"), Notice("b"), Notice("c", tone="bad"), Notice("d")]
    first, others = fold(notices)
    assert first == notices[2]
    assert [notice.title for notice in others] == ["b", "d", "a"]


def test_no_notice_is_none() -> None:
    assert fold([]) == (None, [])


def test_every_state_has_an_icon_and_words_without_underscores() -> None:
    words = vocabulary()
    assert len({word.state for word in words}) == len(words)
    assert all(word.icon and "_" not in word.words for word in words)


@pytest.mark.parametrize(
    ("state", "kind", "tone", "words"),
    [
        ("ready", "", "good", "ready"),
        ("deletion_failed", "", "bad", "deletion failed"),
        ("open", "", "warn", "open"),
        ("open", "pool", "good", "open"),
        ("never_heard_of", "", "quiet", "never heard of"),
    ],
)
def test_a_state_is_told_by_tone_and_words(state: str, kind: str, tone: str, words: str) -> None:
    known = state_word(state, kind)
    assert (known.tone, known.words) == (tone, words)


def test_the_place_of_a_page_leads_to_the_pages_above() -> None:
    entry = Entry(Section("sinks", "Event sinks", "Activity", "y", bool), "/sinks", True)
    navigation = [("Activity", [entry])]
    assert place(navigation, "", "") == [("Activity", "")]
    assert place(navigation, "/sinks", "Event sinks") == [("Activity", ""), ("Event sinks", "/sinks")]
    assert place(navigation, "/sinks/1", "one") == [
        ("Activity", ""),
        ("Event sinks", "/sinks"),
        ("one", "/sinks/1"),
    ]
    assert place([], "/", "Home") == [("Home", "/")]
