"""Timelines of Postgres: a promotion begins a new one, so that a former primary has a lower one. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Server:
    """What a server says about itself.

    system: which cluster it is a copy of. timeline: the one that it writes; None if it is a standby, which
    writes none.
    """

    system: str
    timeline: int | None


def highest_of(known: Mapping[str, int], others: Mapping[str, int]) -> dict[str, int]:
    """Return the highest timeline of each system that either side has seen."""
    return {system: max(known.get(system, 0), others.get(system, 0)) for system in {*known, *others}}


def worth_telling(witnessed: Mapping[str, int], told: Mapping[str, int]) -> dict[str, int]:
    """Return what a process tells others: what it had from servers, and nobody has told a higher one.

    What it knows from others only is not passed on. Else it would never end, also if it is wrong by now.
    """
    return {system: timeline for system, timeline in witnessed.items() if timeline >= told.get(system, 0)}


def is_old(server: Server, highest: Mapping[str, int]) -> bool:
    """Return whether a server writes a timeline that another copy has left behind.

    highest: the highest timeline seen of each system. What a former primary writes is lost, and what it
    reads may have changed since. Another system, such as one restored from a dump, counts from the start.
    """
    return server.timeline is not None and server.timeline < highest.get(server.system, 0)
