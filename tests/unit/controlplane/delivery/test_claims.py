from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from controlplane.delivery.claims import Budget, Turn, shares

_NOW = datetime(2026, 11, 22, tzinfo=UTC)
_TURNS = st.lists(
    st.builds(
        Turn,
        sink_id=st.just(UUID(int=1)),
        tokens=st.floats(0, 100),
        in_flight=st.integers(0, 10),
        max_in_flight=st.integers(1, 64),
        is_suspect=st.booleans(),
        refilled_at=st.just(_NOW),
    ),
    max_size=80,
)


def _turn(*, most: int = 8, is_suspect: bool = False) -> Turn:
    return Turn(UUID(int=1), 100.0, 0, most, is_suspect, _NOW)


@given(_TURNS, st.integers(0, 200), st.integers(0, 100))
def test_shares_keep_to_the_budget_and_to_each_sink_s_limits(turns, total, suspect):
    limits = shares(turns, Budget(total, suspect))
    assert sum(limits) <= total
    assert sum(limit for turn, limit in zip(turns, limits, strict=True) if turn.is_suspect) <= suspect
    for turn, limit in zip(turns, limits, strict=True):
        assert 0 <= limit <= max(0, min(turn.max_in_flight - turn.in_flight, int(turn.tokens)))


def test_sinks_share_alike_and_what_one_leaves_goes_to_the_others():
    assert shares([_turn(), _turn(), _turn()], Budget(9, 0)) == [3, 3, 3]
    assert shares([_turn(most=1), _turn(), _turn()], Budget(9, 0)) == [1, 4, 4]


def test_suspects_have_one_each_until_their_part_is_used():
    turns = [_turn(is_suspect=True), _turn(is_suspect=True), _turn()]
    assert shares(turns, Budget(20, 1)) == [1, 0, 8]
