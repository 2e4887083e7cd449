"""The picture of environments: everything in its place."""

from console.fleet.topology import WIDTH, Environment, Served, picture
from registry.agents.states import State

BAR = 380


def environment(name="prod", types=3, **states):
    served = [Served(f"type-{n}", 3, 2) for n in range(types)]
    return Environment(name, {State(state): count for state, count in states.items()}, served)


def test_rows_follow_each_other_and_never_overlap():
    drawn = picture(
        [environment("a", ready=1), environment("b", types=0, ready=2), environment("c", ready=1)]
    )

    for row, other in zip(drawn.rows, drawn.rows[1:], strict=False):
        assert row.top + row.height < other.top
    last = drawn.rows[-1]
    assert drawn.height == last.top + last.height


def test_bars_share_the_whole_width_and_the_rarest_state_is_seen():
    (row,) = picture([environment(ready=99_999, unavailable=1, draining=0)]).rows

    assert [bar.state for bar in row.bars] == ["ready", "unavailable"]
    assert round(sum(bar.width for bar in row.bars)) == BAR
    assert row.bars[1].width >= 6
    assert row.bars[1].x + row.bars[1].width <= WIDTH


def test_types_lie_around_the_middle_and_what_does_not_fit_is_counted():
    few, many = picture([environment(types=3, ready=1), environment(types=11, ready=1)]).rows

    above, middle, below = (y for _, y in few.types)
    assert above < middle == few.middle < below
    assert (len(many.types), many.more) == (8, 3)
    assert all(many.top <= y <= many.top + many.height for _, y in many.types)


def test_an_environment_whose_agents_have_all_left_has_no_agents():
    gone = environment(retired=4)

    assert gone.total == 0
    assert picture([]).height == 0
