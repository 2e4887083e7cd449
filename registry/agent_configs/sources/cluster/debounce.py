"""Removals that come one by one are judged together, once it is quiet. Pure: the clock is an argument.

A deletion of a whole namespace arrives as many single ones. Taken one by one, each would be few enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from registry.agent_configs.documents.published import DocumentId


@dataclass(frozen=True, slots=True)
class RemovalDebounce:
    """What is gone, and since when nothing else is."""

    removed: frozenset[DocumentId] = frozenset()
    since: float = 0.0

    def update(self, gone: Iterable[DocumentId], *, now: float) -> RemovalDebounce:
        document_ids = frozenset(gone)
        return self if document_ids == self.removed else RemovalDebounce(document_ids, now)

    def pending_removals(self, *, quiet: float, now: float) -> frozenset[DocumentId]:
        """Those that must stay for now."""
        return frozenset() if now - self.since >= quiet else self.removed
