"""The agents that a change reaches: those with work at the scopes whose effective values change.

Overrides do not know of agents; who does registers itself here when the apps are ready.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from uuid import UUID

from controlplane.identity.callers import Caller
from controlplane.scopes import Level, Scope


@dataclass(frozen=True, slots=True)
class Work:
    """Resources that an agent has at a scope."""

    agent_id: UUID
    agent_name: str
    scope: Scope
    resources: int


@dataclass(frozen=True, slots=True)
class ReachedAgent:
    """An agent with the number of its resources at scopes that change."""

    agent_id: UUID
    name: str
    resources: int


ReadWork = Callable[[Caller, Collection[str]], Iterable[Work]]
_readers: list[ReadWork] = []


def show_work(read: ReadWork) -> None:
    """Register who knows the work of agents in projects, as far as a caller may read it."""
    _readers.append(read)


def agents_reached(caller: Caller, scopes: Collection[Scope]) -> list[ReachedAgent]:
    """Return the agents with work at the scopes or in workflows below, most resources first."""
    projects = {scope.project for scope in scopes}
    if not projects:
        return []
    return reached((work for read in _readers for work in read(caller, projects)), scopes)


def reached(works: Iterable[Work], scopes: Collection[Scope]) -> list[ReachedAgent]:
    """Return the agents of the works that one of the scopes covers. Pure.

    A scope above a project in a domain covers only itself: each project is among the scopes if it changes.
    """
    affected = frozenset(scopes)
    counts: Counter[UUID] = Counter()
    names = {}
    for work in works:
        if not affected.isdisjoint(_covering(work.scope)):
            counts[work.agent_id] += work.resources
            names[work.agent_id] = work.agent_name
    ordered = sorted(counts.items(), key=lambda each: (-each[1], names[each[0]]))
    return [ReachedAgent(agent_id, names[agent_id], count) for agent_id, count in ordered]


def _covering(scope: Scope) -> Iterable[Scope]:
    return [scope, *(rung for rung in scope.ladder() if rung.level >= Level.PROJECT_DOMAIN)]
