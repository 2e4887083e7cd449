"""Ready answers, found by their question and dropped by the scopes that change. Pure.

An index holds, for each rung of the ladder of each answer, who stands on it. So a change costs what it
drops, however many answers there are.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from controlplane.scopes import Scope

# Project, domain, workflow, launch plan; and with the resource type the whole question.
Rung = tuple[str, str, str, str]
Key = tuple[str, str, str, str, str]
_GLOBAL: Rung = ("", "", "", "")
# What an answer costs beside its bytes, with its share of the index: 1,440 measured.
_OVERHEAD_BYTES = 1600


def rung_of(scope: Scope) -> Rung:
    return (scope.project, scope.domain, scope.workflow, scope.launch_plan)


@dataclass(slots=True, eq=False)
class Place:
    """Where an answer is, or will be. dropped: something that covers it changed since it was asked for."""

    key: Key
    rungs: tuple[Rung, ...]
    body: bytes = b""
    etag: bytes = b""
    ready: bool = False
    dropped: bool = False

    @property
    def size(self) -> int:
        return len(self.body) + _OVERHEAD_BYTES


class Snapshot:
    """At most `limit` bytes; the answers asked for longest ago go first."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._ready: OrderedDict[Key, Place] = OrderedDict()
        self._standing: dict[Rung, set[Place]] = {}

    def __len__(self) -> int:
        return len(self._ready)

    def get(self, key: Key) -> Place | None:
        place = self._ready.get(key)
        if place is not None:
            self._ready.move_to_end(key)
        return place

    def expect(self, key: Key, scope: Scope) -> Place:
        """Make the place of an answer before it is computed, so that changes from now on drop it too."""
        place = Place(key, tuple(rung_of(rung) for rung in scope.ladder()))
        for rung in place.rungs:
            self._standing.setdefault(rung, set()).add(place)
        return place

    def fill(self, place: Place, body: bytes, etag: bytes) -> None:
        """Put the answer there, and keep it unless a change has overtaken it."""
        place.body, place.etag = body, etag
        if place.dropped:
            return
        place.ready = True
        self._ready[place.key] = place
        self._size += place.size
        while self._size > self._limit:
            self.forget(next(iter(self._ready.values())))

    def forget(self, place: Place) -> None:
        """Take it away, ready or not."""
        if place.dropped:
            return
        place.dropped = True
        if place.ready:
            del self._ready[place.key]
            self._size -= place.size
        for rung in place.rungs:
            standing = self._standing[rung]
            standing.discard(place)
            if not standing:
                del self._standing[rung]

    def drop(self, changed: Scope) -> int:
        """Forget every answer that the changed scope covers; return how many were ready."""
        standing = list(self._standing.get(rung_of(changed), ()))
        for place in standing:
            self.forget(place)
        return sum(place.ready for place in standing)

    def clear(self) -> int:
        return self.drop(Scope())
