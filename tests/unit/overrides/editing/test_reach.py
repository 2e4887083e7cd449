"""Which agents a change of overrides reaches."""

from __future__ import annotations

from uuid import UUID

import pytest

from controlplane.scopes import Scope
from overrides.editing.reach import ReachedAgent, Work, reached

ONE, TWO = UUID(int=1), UUID(int=2)
PAIR = Scope("production", "shop")
WORKFLOW = Scope("production", "shop", "rank")
PLAN = Scope("production", "shop", "rank", "nightly")


def test_agents_are_counted_once_with_all_their_work_most_first():
    works = [Work(ONE, "a", PAIR, 1), Work(TWO, "b", PAIR, 2), Work(ONE, "a", WORKFLOW, 3)]

    assert reached(works, [PAIR]) == [ReachedAgent(ONE, "a", 4), ReachedAgent(TWO, "b", 2)]


@pytest.mark.parametrize(
    ("at", "changes", "is_reached"),
    [
        (PLAN, PLAN, True),
        (PLAN, WORKFLOW, True),
        (PLAN, PAIR, True),
        (PAIR, WORKFLOW, False),
        (Scope("production", "other"), PAIR, False),
        # Each project whose values change is listed by itself.
        (PAIR, Scope(), False),
        (PAIR, Scope(project="shop"), False),
        (Scope(), Scope(), True),
        (Scope(project="shop"), Scope(project="shop"), True),
    ],
)
def test_work_is_reached_where_it_inherits_from_a_scope_that_changes(at, changes, is_reached):
    assert bool(reached([Work(ONE, "a", at, 1)], [changes])) is is_reached
