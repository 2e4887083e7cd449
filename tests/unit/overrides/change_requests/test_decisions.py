"""Change requests as decisions: who is independent, and what is final."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.errors import Conflict, NotIndependent
from overrides.approvals.request_states import PENDING, RequestState
from overrides.change_requests.decisions import (
    GivenApproval,
    Reviewer,
    check_approved,
    check_independent,
    check_pending,
)

people = st.frozensets(st.integers(0, 6).map(lambda number: UUID(int=number)), max_size=3)
GRACE = UUID(int=9)


def reviewer(behind: frozenset[UUID] = frozenset(), *, is_person: bool = True) -> Reviewer:
    return Reviewer(GRACE, "grace", is_person, behind | {GRACE})


@given(people, st.lists(people, max_size=3), people)
def test_a_reviewer_shares_nobody_with_the_author_and_other_reviewers(author, earlier, behind):
    approvals = [GivenApproval("alan", group) for group in earlier]
    try:
        check_independent("ada", author, approvals, reviewer(behind))
        is_independent = True
    except NotIndependent:
        is_independent = False

    everybody = author.union(*earlier)
    assert is_independent is (not everybody & behind)


def test_only_people_approve():
    with pytest.raises(NotIndependent, match="grace is no person"):
        check_independent("ada", [], [], reviewer(is_person=False))


@pytest.mark.parametrize("state", RequestState)
def test_what_is_final_stays(state):
    if state in PENDING:
        check_pending(state)
    else:
        with pytest.raises(Conflict, match=f"is {state}"):
            check_pending(state)


def test_nothing_is_published_without_an_approval():
    check_approved(1)
    with pytest.raises(Conflict, match="Nobody has approved"):
        check_approved(0)
