"""States of an agent, and which changes are possible. Pure. The words are DCM's on the wire."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    READY = "ready"
    CONGESTED = "congested"
    UNAVAILABLE = "unavailable"
    # Silent together with many others: the fleet guard doubts our own ears (docs/adr/0015).
    UNKNOWN = "unknown"


TRANSITIONS: dict[State, frozenset[State]] = {
    State.READY: frozenset({State.CONGESTED, State.UNAVAILABLE, State.UNKNOWN}),
    State.CONGESTED: frozenset({State.READY, State.UNAVAILABLE, State.UNKNOWN}),
    State.UNAVAILABLE: frozenset({State.READY, State.CONGESTED}),
    State.UNKNOWN: frozenset({State.READY, State.CONGESTED, State.UNAVAILABLE}),
}

# The states in which an agent holds a lease that can run out.
LIVE = frozenset({State.READY, State.CONGESTED})


def after_heartbeat(consumer_lag: int, *, congestion_lag: int) -> State:
    """The state that a heartbeat proves: at the threshold an agent is congested."""
    return State.CONGESTED if consumer_lag >= congestion_lag else State.READY
