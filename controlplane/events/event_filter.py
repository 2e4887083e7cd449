"""Event filters: the part of the event log that a caller may read. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from controlplane.events.audiences import TEAM_MEMBERS
from controlplane.scopes import Scope


@dataclass(frozen=True, slots=True)
class EventRight:
    """Permission to read events of these types at and below these scopes.

    team_id: only events on objects of this team; None for events on all objects.
    """

    types: frozenset[str]
    scopes: tuple[Scope, ...]
    team_id: UUID | None = None

    def covers(self, event_type: str, scope: Scope, owner: UUID | None) -> bool:
        is_owner = self.team_id is None or self.team_id == owner
        return (
            is_owner and event_type in self.types and any(readable.covers(scope) for readable in self.scopes)
        )


@dataclass(frozen=True, slots=True)
class EventFilter:
    """The events that a caller may read. everything: all of them."""

    rights: tuple[EventRight, ...] = ()
    hidden_teams: frozenset[str] = frozenset()
    everything: bool = False

    def shows(self, event_type: str, scope: Scope, teams: Iterable[str], owner: UUID | None = None) -> bool:
        """True if an event of this type, at this scope, that names these teams is readable.

        owner: the id of the team that owns the object; None for the platform.
        """
        if self.everything:
            return True
        allowed = any(right.covers(event_type, scope, owner) for right in self.rights)
        return allowed and self.hidden_teams.isdisjoint(teams)

    def as_json(self) -> dict[str, Any]:
        """Return the filter as JSON for `event_filter_from`."""
        rights = [
            {
                "types": sorted(right.types),
                "scopes": [readable.segments for readable in right.scopes],
                "team_id": str(right.team_id) if right.team_id else None,
            }
            for right in self.rights
        ]
        return {
            "rights": rights,
            "hidden_teams": sorted(self.hidden_teams),
            "everything": self.everything,
        }


EVERYTHING = EventFilter(everything=True)


def event_filter_from(document: Mapping[str, Any]) -> EventFilter:
    """Return the filter from the JSON of `EventFilter.as_json`."""
    rights = tuple(
        EventRight(
            frozenset(right["types"]),
            tuple(Scope(**scope) for scope in right["scopes"]),
            UUID(right["team_id"]) if right["team_id"] else None,
        )
        for right in document["rights"]
    )
    return EventFilter(rights, frozenset(document["hidden_teams"]), document["everything"])


def teams_in(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the teams in an event's data."""
    return tuple(data[member] for member in TEAM_MEMBERS if isinstance(data.get(member), str))
