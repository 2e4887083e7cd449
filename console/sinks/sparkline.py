"""The last deliveries of a sink as bars of an SVG."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.delivery.health import RecentDelivery

MOST_BARS = 30
STEP, WIDTH_OF_BAR, HEIGHT = 5, 4, 20
# By height too, not by colour alone.
_HEIGHTS = {"delivered": 20, "waiting": 12, "failing": 8, "dead": 8}
_OTHER_HEIGHT = 4


@dataclass(frozen=True, slots=True)
class Bar:
    """A delivery. kind: its state, or `failing` if it waits for another attempt. y: of its upper edge."""

    kind: str
    x: int
    y: int
    height: int
    title: str


@dataclass(frozen=True, slots=True)
class Sparkline:
    """Bars, newest at the right, and the same as text. unsuccessful: deliveries that only failed."""

    bars: tuple[Bar, ...]
    text: str
    unsuccessful: int = 0
    height: int = HEIGHT
    bar_width: int = WIDTH_OF_BAR

    @property
    def width(self) -> int:
        return len(self.bars) * STEP


def sparkline(deliveries: Sequence[RecentDelivery]) -> Sparkline:
    """deliveries: oldest first, at most MOST_BARS."""
    kinds = [kind_of(delivery) for delivery in deliveries]
    bars = tuple(
        _bar(kind, index, delivery)
        for index, (kind, delivery) in enumerate(zip(kinds, deliveries, strict=True))
    )
    counted = ", ".join(f"{number} {kind}" for kind, number in Counter(kinds).most_common())
    text = f"Last {len(deliveries)}: {counted}" if kinds else "No deliveries"
    return Sparkline(bars, text, sum(kind in ("failing", "dead") for kind in kinds))


def kind_of(delivery: RecentDelivery) -> str:
    return "failing" if delivery.state == "waiting" and delivery.attempt else delivery.state


def _bar(kind: str, index: int, delivery: RecentDelivery) -> Bar:
    height = _HEIGHTS.get(kind, _OTHER_HEIGHT)
    status = f", status {delivery.last_status}" if delivery.last_status else ""
    title = f"{delivery.created_at:%H:%M:%S} {delivery.type}: {kind}{status}"
    return Bar(kind, index * STEP, HEIGHT - height, height, title)
