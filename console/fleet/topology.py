"""Layout of the environments diagram: agents by state and service types. Pure; the template draws the SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from registry.agents.states import State

WIDTH = 1100
_BAR_X, _BAR_WIDTH = 300, 380
_TYPE_STEP = 30
_MIN_HEIGHT, _GAP = 56, 16
_MAX_TYPES = 8


@dataclass(frozen=True, slots=True)
class Served:
    """A service type of an environment, with counts of agents, working agents and providers."""

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
    """A row of the diagram: its position, the bars of its states, and its service types with y positions.

    more: number of service types that only the table shows.
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
    for environment in environments:
        row = _row(environment, top)
        rows.append(row)
        top += row.height + _GAP
    return Picture(tuple(rows), max(0, top - _GAP))


def _row(environment: Environment, top: int) -> Row:
    types = environment.served[:_MAX_TYPES]
    height = max(_MIN_HEIGHT, _TYPE_STEP * len(types))
    middle = top + height // 2
    first = middle - _TYPE_STEP * (len(types) - 1) // 2
    boxes = tuple((served, first + _TYPE_STEP * index) for index, served in enumerate(types))
    return Row(
        environment, top, height, middle, _bars(environment), boxes, len(environment.served) - len(types)
    )


def _bars(environment: Environment) -> tuple[Bar, ...]:
    """Return bars proportional to the share of each state, with a visible minimum width."""
    present = [(state.value, count) for state, count in environment.states.items() if count]
    minimum, total = 6.0, sum(count for _, count in present)
    space = _BAR_WIDTH - minimum * len(present)
    bars, x = [], float(_BAR_X)
    for state, count in present:
        width = round(minimum + space * count / total, 1)
        bars.append(Bar(state, count, round(x, 1), width))
        x += width
    return tuple(bars)
