"""Find documents that can affect one another's claims. Pure.

A decision about one document needs only those that share a name or a team with it, over any number of
steps: the owner of a task type may depend on the owner of the agent that serves it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from registry.agent_configs.documents.published import DocumentId, PublishedDocument, endpoint_name


def find_related(
    documents: Iterable[PublishedDocument], targets: Iterable[PublishedDocument]
) -> frozenset[DocumentId]:
    """Return the documents that a decision about the targets needs."""
    by_mark: defaultdict[str, list[PublishedDocument]] = defaultdict(list)
    for document in documents:
        for mark in _document_marks(document):
            by_mark[mark].append(document)
    related_ids: set[DocumentId] = set()
    followed: set[str] = set()
    waiting = list(targets)
    while waiting:
        new = set(_document_marks(waiting.pop())) - followed
        followed |= new
        for document in (other for mark in new for other in by_mark[mark] if other.id not in related_ids):
            related_ids.add(document.id)
            waiting.append(document)
    return frozenset(related_ids)


def claimable_names(documents: Iterable[PublishedDocument]) -> Iterator[str]:
    """Yield every name that the documents could claim, with and without the team in agent IDs."""
    for document in documents:
        if document.content:
            yield from document.content.routes
            for agent, deployment in document.content.agents.items():
                yield from (agent, f"{document.team.lower()}--{agent}", endpoint_name(deployment.endpoint))


def _document_marks(document: PublishedDocument) -> Iterator[str]:
    yield f"team {document.team}"
    if document.content:
        yield from (f"agent {name}" for name in document.content.agents)
        yield from (f"task type {name}" for name in document.content.routes)
        yield from (f"endpoint {agent.endpoint.lower()}" for agent in document.content.agents.values())
