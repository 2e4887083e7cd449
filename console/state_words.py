"""The one vocabulary of states: tone, icon and words. No state is shown by colour alone."""

from __future__ import annotations

from dataclasses import dataclass

GOOD, WARN, BAD, QUIET = "good", "warn", "bad", "quiet"


@dataclass(frozen=True, slots=True)
class StateWord:
    """A state as it is shown. tone: its colour. icon: a character that tells it without colour."""

    state: str
    tone: str
    icon: str
    words: str


# icon and tone, with the states that have them. Words differ from the state only where they are given.
_VOCABULARY: tuple[tuple[str, str, str], ...] = (
    (
        GOOD,
        "●",
        "ready active current published accepted ok database on running chosen replayed valid reachable idle"
        " acked applied delivered connected healthy enabled",
    ),
    (GOOD, "✓", "verified eligible resolved approved succeeded done in_force closed completed granted"),
    (GOOD, "+", "created"),
    (WARN, "▲", "congested"),
    (
        WARN,
        "◔",
        "late pending awaiting_confirmation queued open waiting registered held unhealthy resolving fetching"
        " downloading scheduled expiring acknowledged unverified outdated",
    ),
    (WARN, "◑", "draining cordoned provisioning cancelling deleting paused full partial undoing"),
    (WARN, "±", "updated degraded"),
    (WARN, "?", "unknown not_known"),
    (WARN, "❄", "frozen"),
    (
        BAD,
        "✕",
        "unavailable failing rejected conflict lost failed deletion_failed stuck abandoned alarm refused"
        " broken engaged invalid unreachable nacked revoked expired disabled dead gone redirect client_error"
        " server_error timeout connection tls address_refused loop missing exhausted firing critical stopped",
    ),
    (BAD, "−", "deleted"),
    (QUIET, "·", "noted ignored skipped discarded muted"),
    (QUIET, "→", "sent"),
    (QUIET, "◌", "retired withdrawn cancelled ended superseded undone kept"),
)
_WORDS = {
    "in_force": "in force",
    "not_known": "not known",
    "acked": "acknowledged",
    "nacked": "refused by plane",
}
_BY_STATE = {
    state: StateWord(state, tone, icon, _WORDS.get(state, state.replace("_", " ")))
    for tone, icon, states in _VOCABULARY
    for state in states.split()
}
# Where a word means something else than usual, by the kind of object.
_BY_KIND = {
    ("pool", "open"): StateWord("open", GOOD, "●", "open"),
    ("pool", "closed"): StateWord("closed", QUIET, "○", "closed"),
}


def state_word(state: str, kind: str = "") -> StateWord:
    """Return how a state of an object is shown. A state that is in no list is quiet."""
    state = str(state)
    word = _BY_KIND.get((kind, state)) or _BY_STATE.get(state)
    return word or StateWord(state, QUIET, "○", state.replace("_", " "))


def vocabulary() -> list[StateWord]:
    """Return all states that have a tone, for the page of components."""
    return list(_BY_STATE.values())
