"""Audiences: permissions to read the events of each kind of object. Pure.

The kind is the part of an event type's name before the dot. Only administrators can read undeclared kinds, so
that a forgotten declaration hides events instead of exposing them.
"""

from __future__ import annotations

from dataclasses import dataclass

from controlplane.identity.roles import Action

# Fields of an event's data that name a team: the event is readable only to readers of the team.
TEAM_MEMBERS = ("team", "from_team", "to_team")


@dataclass(frozen=True, slots=True)
class Audience:
    """The action required to read objects of a kind, in addition to `event.read`.

    holds_all_teams: the data may quote publications of any team.
    """

    action: Action
    holds_all_teams: bool = False


ADMINISTRATORS = Audience(Action.AUDIT_READ)
_DECLARED: dict[str, Audience] = {}


def declare_audience(kind: str, action: Action, *, holds_all_teams: bool = False) -> None:
    """Declare the audience of a kind of object. Raises ValueError if it is already declared."""
    if kind in _DECLARED:
        raise ValueError(f"the audience of {kind} is declared twice")
    _DECLARED[kind] = Audience(action, holds_all_teams)


def kind_of(event_type: str) -> str:
    return event_type.partition(".")[0]


def audience_of(event_type: str) -> Audience:
    """Return the audience of the event type with this name."""
    return _DECLARED.get(kind_of(event_type), ADMINISTRATORS)


def declared_kinds() -> frozenset[str]:
    return frozenset(_DECLARED)
