"""How many units each scope uses, and which limits leave no room for a request. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from controlplane.pools.terms import DEFAULT_WEIGHT, Lease, LeaseState, Limit, PoolTerms
from controlplane.scopes import Scope


class Reason(StrEnum):
    """Why a request gets no units."""

    CLOSED = "closed"
    CAPACITY = "capacity"
    # The free units are guaranteed to other scopes.
    GUARANTEED = "guaranteed"
    CAP = "cap"
    # They are kept for a large request that has waited for long, or go to others first.
    QUEUE = "queue"


# They concern the pool as a whole: waiting for other leases helps.
OF_THE_POOL = (Reason.CAPACITY, Reason.GUARANTEED)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A limit that leaves no room. cap: units that the scope may use; used: those in use."""

    scope: Scope
    reason: Reason
    cap: int
    used: int


@dataclass(frozen=True, slots=True)
class Counts:
    used: int = 0
    waiting: int = 0


@dataclass(slots=True)
class Ledger:
    """Units in use and requests, for each scope that covers a lease.

    turns: of scopes that compete, the virtual time at which each is next: start-time fair queueing (Goyal,
    Vin and Cheng 1996), which decides between scopes that use the same share. clock: the pool's virtual time.
    changes: what was added since the ledger was made, by scope.
    """

    counts: dict[Scope, Counts] = field(default_factory=dict)
    turns: dict[Scope, float] = field(default_factory=dict)
    clock: float = 0.0
    changes: dict[Scope, Counts] = field(default_factory=dict)

    def used(self, scope: Scope) -> int:
        return self.counts.get(scope, Counts()).used

    def waiting(self, scope: Scope) -> int:
        return self.counts.get(scope, Counts()).waiting

    def turn(self, group: Scope) -> float:
        return max(self.turns.get(group, 0.0), self.clock)

    def take_turn(self, group: Scope, cost: float) -> None:
        """Note that the scope got units. cost: units for its weight."""
        self.clock = self.turn(group)
        self.turns[group] = self.clock + cost
        self.changes.setdefault(group, Counts())

    def add(self, lease: Lease, sign: int = 1) -> None:
        """Count a live lease at each scope that covers it; sign -1: no longer."""
        used = sign * lease.units if lease.state is LeaseState.GRANTED else 0
        waiting = sign if lease.state is LeaseState.WAITING else 0
        if not (used or waiting):
            return
        for scope in lease.scope.ladder():
            for book in (self.counts, self.changes):
                counts = book.get(scope, Counts())
                book[scope] = Counts(counts.used + used, counts.waiting + waiting)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one pool, by scope."""

    by_scope: Mapping[Scope, Limit] = field(default_factory=dict)

    @classmethod
    def of(cls, limits: Iterable[Limit]) -> Limits:
        return cls({limit.scope: limit for limit in limits})

    def weight(self, scope: Scope) -> int:
        """Return the weight of the most specific limit that covers the scope."""
        for rung in reversed(scope.ladder()):
            limit = self.by_scope.get(rung)
            if limit is not None and limit.weight is not None:
                return limit.weight
        return DEFAULT_WEIGHT

    def guaranteed(self) -> list[Limit]:
        return [limit for limit in self.by_scope.values() if limit.guaranteed]

    def unmet(self, scope: Scope, ledger: Ledger) -> int:
        """Return the units that the scope is still owed."""
        limit = self.by_scope.get(scope)
        return max(0, limit.guaranteed - ledger.used(scope)) if limit else 0


def find_obstacles(
    terms: PoolTerms,
    limits: Limits,
    ledger: Ledger,
    scope: Scope,
    units: int,
    *,
    caps: Iterable[tuple[Scope, int]] = (),
) -> list[Obstacle]:
    """Return each limit that leaves no room for these units at the scope; empty if they can be granted.

    caps: of the request alone.
    """
    obstacles = []
    total = ledger.used(Scope())
    if not terms.is_open:
        obstacles.append(Obstacle(Scope(), Reason.CLOSED, 0, total))
    if total + units > terms.capacity:
        obstacles.append(Obstacle(Scope(), Reason.CAPACITY, terms.capacity, total))
    elif (reserved := _owed_to_others(limits, ledger, scope)) + total + units > terms.capacity:
        obstacles.append(Obstacle(Scope(), Reason.GUARANTEED, terms.capacity - reserved, total))
    stored = ((rung, limits.by_scope[rung].cap) for rung in scope.ladder() if rung in limits.by_scope)
    for rung, cap in (*stored, *caps):
        if cap is not None and ledger.used(rung) + units > cap:
            obstacles.append(Obstacle(rung, Reason.CAP, cap, ledger.used(rung)))
    return obstacles


def _owed_to_others(limits: Limits, ledger: Ledger, scope: Scope) -> int:
    return sum(
        limits.unmet(limit.scope, ledger) for limit in limits.guaranteed() if not limit.scope.covers(scope)
    )
