"""What silent agents mean: how many, where, since when, and the probable cause. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

# Environments that are silent together when at least this part of all is: the cause is what they share.
_MOST = 0.5


@dataclass(frozen=True, slots=True)
class Place:
    """An environment. silent: of its agents, now; recent: of these, since the begin of the time range.

    since: when the first of the recent agents fell silent. is_guarded: its fleet guard is engaged.
    """

    name: str
    agents: int
    silent: int = 0
    recent: int = 0
    since: datetime | None = None
    is_guarded: bool = False

    @property
    def percent(self) -> int:
        """Return the silent share; at least 1 if any agent is silent."""
        return max(1, round(100 * self.silent / self.agents)) if self.silent and self.agents else 0


@dataclass(frozen=True, slots=True)
class Threshold:
    """The share and the number of silent agents from which an environment counts as affected."""

    share: float
    least: int


@dataclass(frozen=True, slots=True)
class Fleet:
    """All environments with agents. whole_fleet: its guard is engaged. words: of the time range."""

    places: tuple[Place, ...]
    whole_fleet: bool = False
    threshold: Threshold = Threshold(0.2, 5)

    @property
    def affected(self) -> tuple[Place, ...]:
        """Return environments with an engaged guard, or with many agents that fell silent recently."""
        return tuple(place for place in self.places if place.is_guarded or self._has_many(place))

    @property
    def recent(self) -> int:
        return sum(place.recent for place in self.places)

    @property
    def silent(self) -> int:
        return sum(place.silent for place in self.places)

    @property
    def agents(self) -> int:
        return sum(place.agents for place in self.places)

    @property
    def since(self) -> datetime | None:
        return min((place.since for place in self.places if place.since), default=None)

    def _has_many(self, place: Place) -> bool:
        return place.recent >= self.threshold.least and place.recent >= self.threshold.share * place.agents


def where(names: Sequence[str], of: int) -> str:
    """Describe environments by number, or a single one by its name."""
    if len(names) == 1:
        return f"in {names[0]}"
    if len(names) == of:
        return f"in all {of} environments"
    return f"in {len(names)} of {of} environments"


def cause(fleet: Fleet) -> str:
    """Return the probable cause, or nothing if the silence has no pattern."""
    affected, all_places = len(fleet.affected), len(fleet.places)
    if not affected and not fleet.whole_fleet:
        return ""
    if all_places > 1 and (affected >= _MOST * all_places or fleet.whole_fleet):
        return "Probably the network or this control plane, not the agents."
    if affected == 1:
        name = fleet.affected[0].name
        others = ", because other environments are heard" if all_places > 1 else ""
        return f"Probably the network or the cluster of {name}, not each agent{others}."
    return "Probably something that these environments share, not each agent."


def most_affected(fleet: Fleet, count: int) -> tuple[Place, ...]:
    """Return the environments with silent agents, those with most first."""
    silent = [place for place in fleet.places if place.silent or place.is_guarded]
    return tuple(sorted(silent, key=lambda place: (-place.recent, -place.silent, place.name))[:count])
