"""Who may read the events of each kind of object. Pure.

The kind is the part of an event type's name before the dot. A kind that nobody has declared is for
administrators alone, so that a forgotten declaration hides events instead of showing them.
"""

from __future__ import annotations

from dataclasses import dataclass

from controlplane.identity.roles import Action

# Members of an event's data that name a team: whoever may not read the team may not read the event.
TEAM_MEMBERS = ("team", "from_team", "to_team")


@dataclass(frozen=True, slots=True)
class Audience:
    """The action that reads objects of a kind; `event.read` is needed as well.

    holds_all_teams: the data may quote what any team publishes.
    """

    action: Action
    holds_all_teams: bool = False


NOBODY_ELSE = Audience(Action.AUDIT_READ)
_DECLARED: dict[str, Audience] = {}


def declare_audience(kind: str, action: Action, *, holds_all_teams: bool = False) -> None:
    """Say who reads the events of a kind of object. Raises ValueError if it is declared already."""
    if kind in _DECLARED:
        raise ValueError(f"the audience of {kind} is declared twice")
    _DECLARED[kind] = Audience(action, holds_all_teams)


def kind_of(event_type: str) -> str:
    return event_type.partition(".")[0]


def audience_of(event_type: str) -> Audience:
    """The audience of an event type, by its name."""
    return _DECLARED.get(kind_of(event_type), NOBODY_ELSE)


def declared_kinds() -> frozenset[str]:
    return frozenset(_DECLARED)
