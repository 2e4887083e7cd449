"""Whether a request may read from a replica, and how stale its answer then is. Pure.

All times are of this process's monotonic clock, so that no two machines compare their clocks: this process
knows where the primary was at some of its own moments, and where the replica is now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil

from controlplane.replicas.positions import Position

# More is not remembered of the primary's positions.
MOST_STALENESS = 60.0
# Seconds for which the state of a replica is cached.
KNOWN_SECONDS = 0.25
# A replica that is further behind does not catch up while a request waits.
_NEAR_SECONDS = 1.0


class Outcome(StrEnum):
    """Where a read went, and why not to a replica."""

    REPLICA = "replica"
    # The request asked for the newest state.
    NEWEST = "newest"
    # The caller belongs to an organisation: its rows are limited on the primary.
    TENANT = "tenant"
    STALE = "stale"
    # The replica has not replayed the request's position.
    BEHIND = "behind"
    # A failover: the position, the primary and the replica are not on one timeline.
    TIMELINE = "timeline"
    AWAY = "away"
    # During the read.
    CONFLICT = "conflict"
    FAILED = "failed"
    # The read found something that only the primary may answer, such as an error.
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Wish:
    """What a request accepts. bound: seconds. position: of a change that the answer must include."""

    bound: float
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """The primary was here or further at this moment: no change was confirmed before it and is later."""

    position: Position
    taken_at: float


@dataclass(frozen=True, slots=True)
class Replayed:
    """The replica had replayed up to here when it was asked, at this moment or later."""

    position: Position
    asked_at: float


@dataclass(frozen=True, slots=True)
class Choice:
    """Where to read. staleness: seconds before now; all changes confirmed until then are there."""

    outcome: Outcome
    staleness: float = 0.0

    @property
    def is_worth_waiting(self) -> bool:
        """Whether the replica may have replayed the request's position in a moment."""
        return self.outcome is Outcome.BEHIND and self.staleness <= _NEAR_SECONDS


def choose(wish: Wish, replayed: Replayed | None, samples: Sequence[Sample], now: float) -> Choice:
    """Decide where to read. replayed: None if no replica answers. samples: of the primary, oldest first."""
    if replayed is None:
        return Choice(Outcome.AWAY)
    if samples and samples[-1].position.timeline != replayed.position.timeline:
        return Choice(Outcome.TIMELINE)
    staleness = staleness_of(replayed, samples, now)
    if staleness is None or staleness > wish.bound:
        return Choice(Outcome.STALE)
    if wish.position is not None and not replayed.position.includes(wish.position):
        same_timeline = wish.position.timeline == replayed.position.timeline
        return Choice(Outcome.BEHIND, staleness) if same_timeline else Choice(Outcome.TIMELINE)
    return Choice(Outcome.REPLICA, staleness)


def staleness_of(replayed: Replayed, samples: Sequence[Sample], now: float) -> float | None:
    """Return seconds since the replica had everything; None if that is not known."""
    for sample in reversed(samples):
        if replayed.position.includes(sample.position):
            return max(0.0, now - sample.taken_at)
    return None


def is_known(replayed: Replayed | None, now: float) -> bool:
    """Return whether the cached state of the replica is recent enough."""
    return replayed is not None and now - replayed.asked_at <= KNOWN_SECONDS


def accepted_staleness(cache_control: str, bound: float) -> float:
    """Return the seconds that a request accepts. cache_control: its header (RFC 9111 section 5.2.1).

    `no-cache`, and a value that cannot be read, mean the newest state; `max-stale` alone any that is known.
    Browsers send `max-age=0` when somebody reloads a page.
    """
    pairs = (part.strip().partition("=") for part in cache_control.lower().split(","))
    values = {name: value for name, _, value in pairs}
    if "no-cache" in values or "no-store" in values:
        return 0.0
    if "max-stale" in values:
        return _seconds(values["max-stale"]) if values["max-stale"] else MOST_STALENESS
    return min(bound, _seconds(values["max-age"])) if "max-age" in values else bound


def _seconds(text: str) -> float:
    value = text.strip('"')
    if not (value.isascii() and value.isdecimal()):
        return 0.0
    return min(float(value), MOST_STALENESS)


def staleness_headers(staleness: float) -> dict[str, str]:
    """Return the headers that state it, rounded up: an answer is never older than it says."""
    tenths = ceil(round(staleness * 10, 6))
    return {"X-Controlplane-Staleness": f"{tenths / 10:.1f}", "Age": str(ceil(tenths / 10))}
