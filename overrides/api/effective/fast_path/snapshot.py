"""Ready answers, found by their question and dropped by changed scopes. Pure.

An index contains the answers of each rung of their ladders. So the cost of a change depends only on the
answers that it drops, however many there are.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass

from controlplane.scopes import Scope

# Project, domain, workflow, launch plan.
Rung = tuple[str, ...]
# Of a question: everything that its answer depends on, and that differs between questions.
Key = tuple[Hashable, ...]
# In the index: the answers that show projects or domains, or depend on their state.
_CONTENTS: Rung = ("contents of the catalogue",)
# The cost of an answer in addition to its bytes, with its share of the index: 1,440 measured.
_OVERHEAD_BYTES = 1600


def rung_of(scope: Scope) -> Rung:
    return (scope.project, scope.domain, scope.workflow, scope.launch_plan)


@dataclass(slots=True, eq=False)
class CacheEntry:
    """An answer, ready or reserved. dropped: a covering scope changed since it was requested."""

    key: Key
    rungs: tuple[Rung, ...]
    body: bytes = b""
    etag: bytes = b""
    status: int = 200
    ready: bool = False
    dropped: bool = False

    @property
    def size(self) -> int:
        return len(self.body) + _OVERHEAD_BYTES


class Snapshot:
    """At most `limit` bytes of answers; the least recently used are evicted first."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._ready: OrderedDict[Key, CacheEntry] = OrderedDict()
        self._entries_by_rung: dict[Rung, set[CacheEntry]] = {}

    def __len__(self) -> int:
        return len(self._ready)

    def get(self, key: Key) -> CacheEntry | None:
        entry = self._ready.get(key)
        if entry is not None:
            self._ready.move_to_end(key)
        return entry

    def reserve(self, key: Key, scope: Scope, *, shows_catalogue: bool = False) -> CacheEntry:
        """Create the entry of an answer before it is computed, so that changes from now on drop it."""
        rungs = tuple(rung_of(rung) for rung in scope.ladder())
        entry = CacheEntry(key, (*rungs, _CONTENTS) if shows_catalogue else rungs)
        for rung in entry.rungs:
            self._entries_by_rung.setdefault(rung, set()).add(entry)
        return entry

    def fill(self, entry: CacheEntry, body: bytes, etag: bytes, status: int = 200) -> None:
        """Set the answer, and cache it unless a change has dropped the entry."""
        entry.body, entry.etag, entry.status = body, etag, status
        if entry.dropped:
            return
        if (other := self._ready.get(entry.key)) is not None:  # computed twice, for two reasons
            self.evict(other)
        entry.ready = True
        self._ready[entry.key] = entry
        self._size += entry.size
        while self._size > self._limit:
            self.evict(next(iter(self._ready.values())))

    def evict(self, entry: CacheEntry) -> None:
        """Remove the entry, ready or not."""
        if entry.dropped:
            return
        entry.dropped = True
        if entry.ready:
            del self._ready[entry.key]
            self._size -= entry.size
        for rung in entry.rungs:
            entries = self._entries_by_rung[rung]
            entries.discard(entry)
            if not entries:
                del self._entries_by_rung[rung]

    def drop(self, changed: Scope) -> int:
        """Remove every answer that the changed scope covers; return how many were ready."""
        return self._drop(rung_of(changed))

    def drop_catalogue(self) -> int:
        """Remove every answer that shows projects or domains; return how many were ready."""
        return self._drop(_CONTENTS)

    def _drop(self, rung: Rung) -> int:
        entries = list(self._entries_by_rung.get(rung, ()))
        for entry in entries:
            self.evict(entry)
        return sum(entry.ready for entry in entries)

    def clear(self) -> int:
        return self.drop(Scope())
