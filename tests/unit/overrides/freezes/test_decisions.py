"""Freezes as decisions: which are active, what they cover, who may override them, what may be amended."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.errors import Conflict, InvalidRequest
from controlplane.scopes import Scope
from overrides.freezes.decisions import (
    Freeze,
    FreezeOverride,
    FreezeState,
    check_amendment,
    check_interval,
    freezes_over,
    refusing,
    sentence,
    state_of,
)

NOON = datetime(2026, 11, 26, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
NAMES = ("", "a", "b")
scopes = st.builds(Scope, st.sampled_from(NAMES), st.sampled_from(NAMES))
hours = st.integers(-5, 5).map(lambda number: NOON + number * HOUR)


@st.composite
def freezes(draw) -> Freeze:
    starts_at = draw(hours)
    ends_at = starts_at + draw(st.integers(1, 5)) * HOUR
    ended_at = draw(st.none() | hours)
    number = draw(st.integers(0, 999))
    return Freeze(UUID(int=number), draw(scopes), starts_at, ends_at, "why", "ada", ended_at)


def freeze(scope: Scope = Scope("production"), ended_at: datetime | None = None) -> Freeze:
    return Freeze(UUID(int=1), scope, NOON, NOON + HOUR, "Black Friday", "ada", ended_at)


@pytest.mark.parametrize(
    ("moment", "state"),
    [
        (NOON - timedelta(microseconds=1), FreezeState.UPCOMING),
        (NOON, FreezeState.ACTIVE),
        (NOON + HOUR - timedelta(microseconds=1), FreezeState.ACTIVE),
        (NOON + HOUR, FreezeState.ENDED),
    ],
)
def test_a_freeze_has_its_start_and_not_its_end(moment, state):
    assert state_of(freeze(), moment) is state


def test_a_freeze_that_was_ended_holds_nothing_any_more():
    assert state_of(freeze(ended_at=NOON), NOON) is FreezeState.ENDED


@pytest.mark.parametrize(
    ("changed", "held"),
    [
        (Scope("production"), True),
        (Scope("production", "shop"), True),
        (Scope("production", "shop", "train"), True),
        (Scope(), False),
        (Scope("", "shop"), False),
        (Scope("staging", "shop"), False),
    ],
)
def test_a_freeze_holds_its_scope_and_what_is_below(changed, held):
    assert bool(freezes_over([freeze()], [changed], NOON)) is held


@settings(max_examples=40)
@given(st.lists(freezes(), max_size=4), st.lists(scopes, max_size=3), hours)
def test_overlapping_freezes_hold_as_long_as_one_of_them_does(declared, changed, now):
    found = freezes_over(declared, changed, now)

    expected = [
        each
        for each in declared
        if each.ended_at is None
        and each.starts_at <= now < each.ends_at
        and any(each.scope.covers(scope) for scope in changed)
    ]
    assert sorted(map(str, found)) == sorted(map(str, expected))
    assert [each.ends_at for each in found] == sorted((each.ends_at for each in found), reverse=True)


@given(st.lists(freezes(), max_size=6), scopes)
def test_an_override_reaches_only_freezes_at_and_below_its_scopes(declared, at):
    left = refusing(declared, FreezeOverride("fire", (at,)))

    assert set(left) == {each for each in declared if not at.covers(each.scope)}
    assert refusing(declared, None) == tuple(declared)


@pytest.mark.parametrize(
    ("starts_at", "ends_at", "code"),
    [
        (NOON, NOON, "before_start"),
        (NOON, NOON - HOUR, "before_start"),
        (NOON - 2 * HOUR, NOON, "in_the_past"),
    ],
)
def test_a_freeze_ends_after_its_start_and_in_the_future(starts_at, ends_at, code):
    with pytest.raises(InvalidRequest) as caught:
        check_interval(starts_at, ends_at, NOON)

    assert [(error.pointer, error.code) for error in caught.value.errors] == [("/ends_at", code)]


def test_what_may_be_amended_and_when():
    check_amendment(freeze(), NOON - HOUR, NOON + HOUR, NOON - timedelta(minutes=1))
    check_amendment(freeze(), NOON, NOON + 2 * HOUR, NOON)
    with pytest.raises(InvalidRequest, match="has started"):
        check_amendment(freeze(), NOON - HOUR, NOON + HOUR, NOON)
    with pytest.raises(Conflict, match="has ended"):
        check_amendment(freeze(), NOON, NOON + 2 * HOUR, NOON + HOUR)


def test_the_sentence_says_who_where_until_when_and_why():
    assert sentence(freeze()) == (
        "ada froze overrides at domain=production until 2026-11-26 13:00 UTC: Black Friday"
    )
