"""Which waiting requests get the free units. Pure.

fair: weighted max-min. The next unit goes to the scope that uses the least for its weight, after all scopes
that are owed guaranteed units. Of scopes that use the same, the one whose turn it is: without turns, a light
scope would wait for all requests of a heavy one if there is a single unit. Within a scope, priority decides,
then age.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from controlplane.pools.ledger import OF_THE_POOL, Ledger, Limits, Reason, find_obstacles
from controlplane.pools.terms import GrantMode, Lease, LeaseState, PoolTerms, competing_scope
from controlplane.scopes import Scope

# For so long, smaller requests overtake one that is too large for the free units.
OVERTAKING = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Head:
    """The first request in order that is too large for the free units, and since when it is."""

    lease_id: UUID
    since: datetime


@dataclass(slots=True)
class Selection:
    """granted: in order. head: to remember until the next selection.

    is_kept: the rest of the free units is kept for the head. skipped: groups of which none can be granted.
    """

    granted: list[Lease] = field(default_factory=list)
    head: Head | None = None
    is_kept: bool = False
    skipped: set[Scope] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Pool:
    """What a selection is made from."""

    terms: PoolTerms
    limits: Limits
    ledger: Ledger
    now: datetime

    def reasons(self, lease: Lease) -> set[Reason]:
        obstacles = find_obstacles(
            self.terms, self.limits, self.ledger, lease.scope, lease.units, caps=lease.caps
        )
        return {obstacle.reason for obstacle in obstacles}

    def is_full(self) -> bool:
        return not self.terms.is_open or self.ledger.used(Scope()) >= self.terms.capacity


def select(
    terms: PoolTerms,
    limits: Limits,
    ledger: Ledger,
    candidates: Iterable[Lease],
    *,
    head: Head | None,
    now: datetime,
) -> Selection:
    """Choose which candidates get units, and count the units in the ledger.

    candidates: waiting requests. head: of the last selection.
    """
    pool, selection = _Pool(terms, limits, ledger, now), Selection()
    queues = _queues(terms, candidates)
    _serve_head(pool, queues, head, selection)
    if selection.is_kept:
        return selection
    order = [(_rank(pool, group, queue[-1]), group) for group, queue in queues.items() if queue]
    heapq.heapify(order)
    while order and not selection.is_kept:
        if pool.is_full():
            # Nothing fits, so nothing overtakes the head.
            selection.head = selection.head or head
            break
        _, group = heapq.heappop(order)
        _serve(pool, group, queues[group].pop(), head, selection)
        if queues[group]:
            heapq.heappush(order, (_rank(pool, group, queues[group][-1]), group))
    return selection


def _serve_head(
    pool: _Pool, queues: dict[Scope, list[Lease]], head: Head | None, selection: Selection
) -> None:
    """Serve the large request that was overtaken for long enough before all others."""
    if head is None or pool.now - head.since < OVERTAKING:
        return
    for group, queue in queues.items():
        for lease in queue:
            if lease.id == head.lease_id:
                if pool.reasons(lease) & {Reason.CAP, Reason.CLOSED}:
                    return
                queue.remove(lease)
                _serve(pool, group, lease, head, selection)
                return


def _serve(pool: _Pool, group: Scope, lease: Lease, head: Head | None, selection: Selection) -> None:
    """Grant the request if it fits, else note what that means for the others."""
    reasons = pool.reasons(lease)
    if not reasons:
        pool.ledger.add(replace(lease, state=LeaseState.GRANTED))
        pool.ledger.take_turn(group, lease.units / pool.limits.weight(group))
        selection.granted.append(lease)
        selection.skipped.discard(group)
        return
    selection.skipped.add(group)
    if reasons <= set(OF_THE_POOL) and pool.terms.grant_mode is GrantMode.FIFO:
        selection.is_kept = True
    elif reasons <= set(OF_THE_POOL) and pool.terms.grant_mode is GrantMode.FAIR and selection.head is None:
        is_same = head is not None and head.lease_id == lease.id
        selection.head = head if is_same else Head(lease.id, pool.now)
        selection.is_kept = selection.head is not None and pool.now - selection.head.since >= OVERTAKING


def _queues(terms: PoolTerms, candidates: Iterable[Lease]) -> dict[Scope, list[Lease]]:
    """Return the candidates by the scope that competes; the next one is the last of its list."""
    queues: dict[Scope, list[Lease]] = defaultdict(list)
    for lease in candidates:
        queues[competing_scope(terms, lease.scope)].append(lease)
    for queue in queues.values():
        queue.sort(key=lambda lease: _within_group(terms, lease), reverse=True)
    return queues


def _within_group(terms: PoolTerms, lease: Lease) -> tuple[Any, ...]:
    """Return the order of requests that compete for the share of one scope."""
    priority = -lease.priority if terms.grant_mode is GrantMode.FAIR else 0
    return (priority, lease.requested_at, lease.id)


def _rank(pool: _Pool, group: Scope, lease: Lease) -> tuple[Any, ...]:
    """Return the order of the scopes, each with its next request."""
    if pool.terms.grant_mode is not GrantMode.FAIR:
        return _within_group(pool.terms, lease)
    is_owed = pool.limits.unmet(group, pool.ledger) > 0
    share = pool.ledger.used(group) / pool.limits.weight(group)
    return (not is_owed, share, pool.ledger.turn(group), *_within_group(pool.terms, lease))
