"""Answers that were computed for watchers, as ready answers: their clients ask again at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from overrides.api.effective.fast_path.snapshot import CacheEntry, Snapshot, rung_of
from overrides.api.effective.watching.topics import VALUES, Answer, TopicKey


class KeptAnswers:
    """snapshot: of the fast path. Values alone are no answers of it."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def reserve(self, keys: Iterable[TopicKey]) -> dict[TopicKey, CacheEntry]:
        """Reserve entries before the computation, so that changes from now on drop them."""
        return {
            key: self._snapshot.reserve((*rung_of(key.scope), key.resource_type, key.form), key.scope)
            for key in keys
            if key.form != VALUES
        }

    def fill(self, entries: Mapping[TopicKey, CacheEntry], answers: Mapping[TopicKey, Answer]) -> None:
        """Keep the answers that were computed, and forget the other entries."""
        for key, entry in entries.items():
            answer = answers.get(key)
            if answer is None or not answer.body:
                self._snapshot.evict(entry)
            else:
                self._snapshot.fill(entry, answer.body, answer.etag)
