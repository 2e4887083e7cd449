"""What happens to a scheduled change when it is due."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.errors import InvalidRequest
from controlplane.scopes import Scope
from overrides.freezes.decisions import Freeze
from overrides.scheduling.decisions import ChangeState, Situation, Step, check_times, decide

NOON = datetime(2026, 11, 26, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
FREEZE = Freeze(UUID(int=1), Scope(), NOON, NOON + HOUR, "Sale", "ada")
PLANNED = Situation(ChangeState.SCHEDULED, expected=3, current=3, changed_by="bob", may_write=True)
MADE = replace(PLANNED, state=ChangeState.APPLIED)


@pytest.mark.parametrize(
    ("situation", "step", "reason"),
    [
        (PLANNED, Step.APPLY, ""),
        (replace(PLANNED, may_write=False), Step.REFUSE, "no longer has override.write"),
        (replace(PLANNED, current=5), Step.REFUSE, "changed by bob at version 5; expected was version 3"),
        (replace(PLANNED, frozen_by=(FREEZE,)), Step.REFUSE, "ada froze overrides at global"),
        (MADE, Step.REVERT, ""),
        (replace(MADE, may_write=False), Step.REVERT, ""),
        (replace(MADE, current=4), Step.REFUSE, "Its values stay"),
        (replace(MADE, frozen_by=(FREEZE,)), Step.WAIT, "ada froze overrides at global"),
    ],
)
def test_what_is_done_and_why(situation, step, reason):
    decision = decide(situation)

    assert decision.step is step
    assert reason in decision.reason
    assert bool(decision.reason) is (step in (Step.REFUSE, Step.WAIT))


situations = st.builds(
    Situation,
    st.sampled_from([ChangeState.SCHEDULED, ChangeState.APPLIED]),
    st.integers(0, 2),
    st.integers(0, 2),
    st.just("bob"),
    st.booleans(),
    st.sampled_from([(), (FREEZE,)]),
)


@given(situations)
def test_nothing_is_written_over_another_version_or_in_a_freeze(situation):
    writes = decide(situation).step in (Step.APPLY, Step.REVERT)

    assert not writes or (situation.current == situation.expected and not situation.frozen_by)


@pytest.mark.parametrize(
    ("at", "until", "pointer"),
    [
        (None, None, "/at"),
        (NOON, None, "/at"),
        (NOON - HOUR, NOON + HOUR, "/at"),
        (None, NOON, "/until"),
        (NOON + HOUR, NOON + HOUR, "/until"),
    ],
)
def test_times_that_make_no_sense(at, until, pointer):
    with pytest.raises(InvalidRequest) as caught:
        check_times(at, until, NOON)

    assert [error.pointer for error in caught.value.errors] == [pointer]


def test_times_that_make_sense():
    check_times(None, NOON + HOUR, NOON)
    check_times(NOON + HOUR, None, NOON)
    check_times(NOON + HOUR, NOON + 2 * HOUR, NOON)
