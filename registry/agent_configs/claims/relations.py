"""Which documents can decide about one another's claims. Pure.

A decision about one document needs those alone that share a name with it, or a team, over however many
steps: who has a task type may depend on who has the agent that serves it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from registry.agent_configs.documents.published import DocumentId, Published, endpoint_name


def related(documents: Iterable[Published], wanted: Iterable[Published]) -> frozenset[DocumentId]:
    """Of `documents`, those that a decision about the wanted ones needs."""
    by_mark: defaultdict[str, list[Published]] = defaultdict(list)
    for one in documents:
        for mark in _marks(one):
            by_mark[mark].append(one)
    found: set[DocumentId] = set()
    followed: set[str] = set()
    waiting = list(wanted)
    while waiting:
        new = set(_marks(waiting.pop())) - followed
        followed |= new
        for one in (other for mark in new for other in by_mark[mark] if other.id not in found):
            found.add(one.id)
            waiting.append(one)
    return frozenset(found)


def names_of(documents: Iterable[Published]) -> Iterator[str]:
    """Every name that the documents could claim, however ids are written."""
    for one in documents:
        if one.content:
            yield from one.content.routes
            for agent, deployment in one.content.agents.items():
                yield from (agent, f"{one.team.lower()}--{agent}", endpoint_name(deployment.endpoint))


def _marks(one: Published) -> Iterator[str]:
    yield f"team {one.team}"
    if one.content:
        yield from (f"agent {name}" for name in one.content.agents)
        yield from (f"task type {name}" for name in one.content.routes)
        yield from (f"endpoint {agent.endpoint.lower()}" for agent in one.content.agents.values())
