"""States of an agent, and which changes are possible. Pure. The words are DCM's where it has one."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    # It joined with a token that wants an operator's approval. It may beat, and gets no work.
    REGISTERED = "registered"
    READY = "ready"
    CONGESTED = "congested"
    # It finishes what it has, and gets no more.
    DRAINING = "draining"
    UNAVAILABLE = "unavailable"
    # Silent together with many others: the fleet guard doubts our own ears (docs/adr/0016).
    UNKNOWN = "unknown"
    # It said goodbye, was sent away, or was silent for days; kept for a while, then removed.
    RETIRED = "retired"


SILENT = frozenset({State.UNAVAILABLE, State.UNKNOWN})
_WORKING = frozenset({State.READY, State.CONGESTED, State.DRAINING})
# From anywhere an agent can be retired, and can have to be approved anew: somebody took its name over.
_ALWAYS = frozenset({State.RETIRED, State.REGISTERED})
TRANSITIONS: dict[State, frozenset[State]] = {
    State.REGISTERED: frozenset({State.READY, State.DRAINING, State.RETIRED}),
    **{one: (_WORKING | SILENT | _ALWAYS) - {one} for one in _WORKING},
    State.UNAVAILABLE: _WORKING | _ALWAYS,
    State.UNKNOWN: _WORKING | _ALWAYS | {State.UNAVAILABLE},
    # A new registration brings it back; a heartbeat only if nobody but silence had retired it.
    State.RETIRED: _WORKING | {State.REGISTERED},
}

# The states in which an agent holds a lease that can run out.
LIVE = _WORKING


def after_heartbeat(consumer_lag: int, *, congestion_lag: int, draining: bool = False) -> State:
    """The state that a heartbeat proves: at the threshold an agent is congested."""
    if draining:
        return State.DRAINING
    return State.CONGESTED if consumer_lag >= congestion_lag else State.READY


def after_registration(old: State, initial: State, *, draining: bool) -> State:
    """An agent that waits for approval goes on waiting; a wish to drain outlives a restart."""
    if State.REGISTERED in (old, initial):
        return State.REGISTERED
    return State.DRAINING if draining else initial


class Cost(StrEnum):
    LOW = "low"
    MEDIUM_LOW = "medium-low"
    MEDIUM = "medium"
    MEDIUM_HIGH = "medium-high"
    HIGH = "high"
