"""When to start a dead process again. Pure."""

from __future__ import annotations

FIRST_SECONDS = 0.5
LONGEST_SECONDS = 30.0
# Whoever lived this long was well; its next death is a new story.
WELL_AFTER_SECONDS = 60.0


def next_delay(previous: float | None, *, lived: float) -> float:
    """Seconds to wait: half a second, doubled each time, forgotten after a minute of life."""
    if previous is None or lived >= WELL_AFTER_SECONDS:
        return FIRST_SECONDS
    return min(previous * 2, LONGEST_SECONDS)
