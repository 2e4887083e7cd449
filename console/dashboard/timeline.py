"""The timeline: how many events of each kind happened in each piece of a time range, as bars. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

WIDTH, HEIGHT = 720, 24
# The least height of a bar, so that one event beside thousands is seen.
_LEAST = 3


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A range until now. since: its name in URLs. step: the length of a bar."""

    since: str
    words: str
    length: timedelta
    step: timedelta
    step_words: str

    @property
    def count(self) -> int:
        return self.length // self.step


RANGES = (
    TimeRange("15m", "15 minutes", timedelta(minutes=15), timedelta(seconds=15), "15 seconds"),
    TimeRange("1h", "hour", timedelta(hours=1), timedelta(minutes=1), "minute"),
    TimeRange("24h", "day", timedelta(hours=24), timedelta(minutes=15), "15 minutes"),
)
HOUR = RANGES[1]


def find_range(since: str) -> TimeRange:
    """Return the range with this name; an hour for others."""
    return next((known for known in RANGES if known.since == since), HOUR)


@dataclass(frozen=True, slots=True)
class Lane:
    """A row of the timeline: events of some types. tone: of its bars."""

    name: str
    types: tuple[str, ...]
    tone: str


LANES = (
    Lane("Agents silent", ("agent.unavailable", "agent.unknown"), "bad"),
    Lane("Agents recovered", ("agent.ready", "agent.congested"), "good"),
    Lane("Fleet guards", ("fleet_guard.engaged", "fleet_guard.lifted", "fleet_guard.overruled"), "warn"),
    Lane("Overrides changed", ("override.created", "override.updated", "override.deleted"), "plain"),
    Lane(
        "Agent configurations",
        ("agent_config.published", "agent_config.removed", "agent_config_bundle.activated"),
        "plain",
    ),
)
TYPES = tuple(name for lane in LANES for name in lane.types)


@dataclass(frozen=True, slots=True)
class Bar:
    """The events of a step, with the position of its bar out of WIDTH and HEIGHT."""

    at: datetime
    count: int
    x: float
    y: int
    width: float
    height: int


@dataclass(frozen=True, slots=True)
class Row:
    """A lane with its bars. peak: the highest bar."""

    lane: Lane
    bars: tuple[Bar, ...]

    @property
    def total(self) -> int:
        return sum(bar.count for bar in self.bars)

    @property
    def peak(self) -> Bar | None:
        return max(self.bars, key=lambda bar: bar.count, default=None)


def rows(counts: Mapping[tuple[datetime, str], int], period: TimeRange, *, begin: datetime) -> list[Row]:
    """Return each lane with a bar for each step that has events. counts: by begin of the step and type."""
    return [_row(lane, counts, period, begin) for lane in LANES]


def busy_steps(lanes: Iterable[Row]) -> list[tuple[datetime, list[int]]]:
    """Return the steps with events and the count of each lane, newest first: the timeline as a table."""
    by_lane = [{bar.at: bar.count for bar in row.bars} for row in lanes]
    steps = sorted({at for counts in by_lane for at in counts}, reverse=True)
    return [(at, [counts.get(at, 0) for counts in by_lane]) for at in steps]


def ticks(period: TimeRange) -> list[str]:
    """Return labels for the begin of each quarter of the range, and its end."""
    return [*(_ago(period.length * quarter / 4) for quarter in (4, 3, 2, 1)), "now"]


def _ago(length: timedelta) -> str:
    minutes = length.total_seconds() / 60
    return f"{minutes / 60:g} h ago" if minutes > 60 else f"{minutes:g} min ago"


def _row(lane: Lane, counts: Mapping[tuple[datetime, str], int], period: TimeRange, begin: datetime) -> Row:
    by_step: dict[datetime, int] = {}
    for (at, name), count in counts.items():
        if name in lane.types:
            by_step[at] = by_step.get(at, 0) + count
    most = max(by_step.values(), default=0)
    return Row(
        lane, tuple(_bar(at, by_step[at], most=most, period=period, begin=begin) for at in sorted(by_step))
    )


def _bar(at: datetime, count: int, *, most: int, period: TimeRange, begin: datetime) -> Bar:
    width = WIDTH / period.count
    height = max(_LEAST, round(HEIGHT * count / most))
    x = round((at - begin) / period.step * width, 1)
    return Bar(at, count, x, HEIGHT - height, round(max(2.0, width - 1), 1), height)
