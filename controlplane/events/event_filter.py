"""What a caller may read of the event log, as data. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.events.audiences import TEAM_MEMBERS
from controlplane.scopes import Scope


@dataclass(frozen=True, slots=True)
class Right:
    """Events of these types are readable at and below these scopes."""

    types: frozenset[str]
    scopes: tuple[Scope, ...]


@dataclass(frozen=True, slots=True)
class Sight:
    """What a caller may read. everything: no event is withheld."""

    rights: tuple[Right, ...] = ()
    hidden_teams: frozenset[str] = frozenset()
    everything: bool = False

    def shows(self, event_type: str, scope: Scope, teams: Iterable[str]) -> bool:
        """True if an event of this type, at this scope, that names these teams is readable."""
        if self.everything:
            return True
        allowed = any(
            event_type in right.types and any(one.covers(scope) for one in right.scopes)
            for right in self.rights
        )
        return allowed and self.hidden_teams.isdisjoint(teams)

    def as_json(self) -> dict[str, Any]:
        """For `sight_from`."""
        rights = [
            {"types": sorted(right.types), "scopes": [one.segments for one in right.scopes]}
            for right in self.rights
        ]
        return {
            "rights": rights,
            "hidden_teams": sorted(self.hidden_teams),
            "everything": self.everything,
        }


EVERYTHING = Sight(everything=True)


def sight_from(sent: Mapping[str, Any]) -> Sight:
    """Read what `Sight.as_json` wrote."""
    rights = tuple(
        Right(frozenset(one["types"]), tuple(Scope(**scope) for scope in one["scopes"]))
        for one in sent["rights"]
    )
    return Sight(rights, frozenset(sent["hidden_teams"]), sent["everything"])


def teams_in(data: Mapping[str, Any]) -> tuple[str, ...]:
    """The teams that an event's data names."""
    return tuple(data[member] for member in TEAM_MEMBERS if isinstance(data.get(member), str))
