"""Collect single removals until no more arrive; the clock is an argument. Pure.

Deleting a whole namespace arrives as many single removals, each of which is below the limit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from registry.agent_configs.documents.published import DocumentId


@dataclass(frozen=True, slots=True)
class RemovalDebounce:
    """Removed documents, and when the last one was removed."""

    removed: frozenset[DocumentId] = frozenset()
    since: float = 0.0

    def update(self, gone: Iterable[DocumentId], *, now: float) -> RemovalDebounce:
        document_ids = frozenset(gone)
        return self if document_ids == self.removed else RemovalDebounce(document_ids, now)

    def pending_removals(self, *, quiet: float, now: float) -> frozenset[DocumentId]:
        """Return the removals that must wait."""
        return frozenset() if now - self.since >= quiet else self.removed
