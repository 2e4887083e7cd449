"""States of an agent and its possible transitions. Pure. DCM's names are used where they exist."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    # Joined with a token that requires an operator's approval. Heartbeats are accepted; it gets no work.
    REGISTERED = "registered"
    READY = "ready"
    CONGESTED = "congested"
    # Finishes its current work and gets no more.
    DRAINING = "draining"
    UNAVAILABLE = "unavailable"
    # Silent together with many other agents: possibly our own fault (the fleet guard, docs/adr/0016).
    UNKNOWN = "unknown"
    # Deregistered, retired by an operator, or silent for days; kept for a while, then removed.
    RETIRED = "retired"


SILENT = frozenset({State.UNAVAILABLE, State.UNKNOWN})
_WORKING = frozenset({State.READY, State.CONGESTED, State.DRAINING})
# Any agent can be retired, or need approval again because another owner took over its name.
_ALWAYS = frozenset({State.RETIRED, State.REGISTERED})
TRANSITIONS: dict[State, frozenset[State]] = {
    State.REGISTERED: frozenset({State.READY, State.DRAINING, State.RETIRED}),
    **{state: (_WORKING | SILENT | _ALWAYS) - {state} for state in _WORKING},
    State.UNAVAILABLE: _WORKING | _ALWAYS,
    State.UNKNOWN: _WORKING | _ALWAYS | {State.UNAVAILABLE},
    # A new registration restores it; a heartbeat only if it was retired for silence.
    State.RETIRED: _WORKING | {State.REGISTERED},
}

# The states in which an agent holds a lease that can expire.
LIVE = _WORKING


def after_heartbeat(consumer_lag: int, *, congestion_lag: int, draining: bool = False) -> State:
    """Return the state after a heartbeat; at the threshold an agent is congested."""
    if draining:
        return State.DRAINING
    return State.CONGESTED if consumer_lag >= congestion_lag else State.READY


def after_registration(old: State, initial: State, *, draining: bool) -> State:
    """Return the state after a registration: approval stays pending, a drain request outlives a restart."""
    if State.REGISTERED in (old, initial):
        return State.REGISTERED
    return State.DRAINING if draining else initial


class Cost(StrEnum):
    LOW = "low"
    MEDIUM_LOW = "medium-low"
    MEDIUM = "medium"
    MEDIUM_HIGH = "medium-high"
    HIGH = "high"
