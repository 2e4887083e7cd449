"""Facts of higher packages that the state of the installation shows: fleet guards and sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class EngagedGuard:
    """A fleet guard that is engaged. environment: empty for the whole fleet."""

    environment: str
    engaged_at: datetime
    silent: int
    agents: int
    reason: str


@dataclass(frozen=True, slots=True)
class Source:
    """A folder or cluster that is followed. is_stale: what it has now is not in force.

    state: in its own words. loaded_at: of the last good read. problems: how many the last read found.
    """

    name: str
    state: str
    is_stale: bool
    checked_at: datetime | None
    loaded_at: datetime | None
    problems: int


_guards: list[Callable[[], Iterable[EngagedGuard]]] = []
_sources: list[Callable[[], Iterable[Source]]] = []


def show_guards(read: Callable[[], Iterable[EngagedGuard]]) -> None:
    """Register who knows the guards. Apps call it when they are ready."""
    _guards.append(read)


def show_sources(read: Callable[[], Iterable[Source]]) -> None:
    """Register who knows sources. Apps call it when they are ready."""
    _sources.append(read)


def engaged_guards() -> list[EngagedGuard]:
    return [guard for read in _guards for guard in read()]


def sources() -> list[Source]:
    return [source for read in _sources for source in read()]
