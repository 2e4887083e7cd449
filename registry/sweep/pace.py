"""How long the sweep pauses between its steps: heartbeats come first."""

from __future__ import annotations

# Shares of a step's time: on an idle machine, and at most, which is a sweep that takes four times as long.
_LEAST_SHARE = 0.1
_MOST_SHARE = 3.0
# A step of twice the usual time means that others wait for the processor as well: the largest pause.
_PER_DELAY = 3.0


class Pace:
    """The pauses of one sweep, whose full steps all do the same work.

    The fastest step shows how long the work takes; what a step takes longer, it has waited for others.
    """

    def __init__(self) -> None:
        self._fastest = float("inf")

    def rest_after(self, seconds: float) -> float:
        """Return the seconds to pause after a full step that took so long."""
        self._fastest = min(self._fastest, seconds)
        delay = seconds - self._fastest
        return min(_MOST_SHARE * seconds, _LEAST_SHARE * seconds + _PER_DELAY * delay)
