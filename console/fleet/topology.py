"""Environments, their agents by state and what these serve, as a picture. Pure: the page draws it as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from registry.agents.states import State

WIDTH = 1100
_BAR_X, _BAR_WIDTH = 300, 380
_TYPE_STEP = 30
_LEAST_HEIGHT, _GAP = 56, 16
_MOST_TYPES = 8


@dataclass(frozen=True, slots=True)
class Served:
    """A service type of an environment: agents that say so, those that take work, its providers."""

    name: str
    agents: int
    working: int
    providers: int = 0
    ready_providers: int = 0


@dataclass(frozen=True, slots=True)
class Environment:
    name: str
    states: Mapping[State, int]
    served: Sequence[Served]

    @property
    def total(self) -> int:
        return sum(count for state, count in self.states.items() if state is not State.RETIRED)


@dataclass(frozen=True, slots=True)
class Bar:
    state: str
    count: int
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Row:
    """One environment: top and middle of its row, the bars of its states, its types with their middles.

    more: types that the picture leaves out; the table has them.
    """

    environment: Environment
    top: int
    height: int
    middle: int
    bars: tuple[Bar, ...]
    types: tuple[tuple[Served, int], ...]
    more: int

    @property
    def bottom(self) -> int:
        return self.top + self.height


@dataclass(frozen=True, slots=True)
class Picture:
    rows: tuple[Row, ...]
    height: int


def picture(environments: Sequence[Environment]) -> Picture:
    rows, top = [], 0
    for one in environments:
        row = _row(one, top)
        rows.append(row)
        top += row.height + _GAP
    return Picture(tuple(rows), max(0, top - _GAP))


def _row(one: Environment, top: int) -> Row:
    shown = one.served[:_MOST_TYPES]
    height = max(_LEAST_HEIGHT, _TYPE_STEP * len(shown))
    middle = top + height // 2
    first = middle - _TYPE_STEP * (len(shown) - 1) // 2
    types = tuple((served, first + _TYPE_STEP * index) for index, served in enumerate(shown))
    return Row(one, top, height, middle, _bars(one), types, len(one.served) - len(shown))


def _bars(one: Environment) -> tuple[Bar, ...]:
    """As wide as the share of the state; a few agents of many still have a bar that can be seen."""
    present = [(state.value, count) for state, count in one.states.items() if count]
    least, total = 6.0, sum(count for _, count in present)
    room = _BAR_WIDTH - least * len(present)
    bars, x = [], float(_BAR_X)
    for state, count in present:
        width = round(least + room * count / total, 1)
        bars.append(Bar(state, count, round(x, 1), width))
        x += width
    return tuple(bars)
