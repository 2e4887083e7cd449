"""One batch of operations on a pool: who holds and who waits afterwards. Pure.

Releases come first, then renewals, then requests, so that a batch grants what it frees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from controlplane.pools.ledger import Ledger, Limits, Obstacle, Reason, find_obstacles
from controlplane.pools.operations import (
    Acquire,
    Granted,
    Lost,
    Operation,
    Queued,
    Refused,
    Release,
    Released,
    Renew,
    Result,
    TokenInUse,
)
from controlplane.pools.queue_order import Head, select
from controlplane.pools.terms import LIVE, GrantMode, Lease, LeaseState, PoolTerms, fair_scope, lease_end
from controlplane.scopes import Scope

# Weight of the newest lease in the mean time for which leases are held.
_SMOOTHING = 0.1
# Of the places in the queue, one part in so many is left for each scope that competes.
_SHARE = 100


@dataclass(slots=True)
class PoolState:
    """A pool with what its operations concern.

    leases: live ones, by id. queue: waiting requests that may be next; they are in `leases` too.
    """

    terms: PoolTerms
    now: datetime
    limits: Limits = field(default_factory=Limits)
    ledger: Ledger = field(default_factory=Ledger)
    leases: dict[UUID, Lease] = field(default_factory=dict)
    queue: Sequence[Lease] = ()
    head: Head | None = None
    epoch: int = 0
    mean_hold_seconds: float | None = None


@dataclass(slots=True)
class Outcome:
    """results: in the order of the operations. leases: those that are new or differ, by id.

    promoted: requests of earlier batches that got their units.
    """

    results: list[Result] = field(default_factory=list)
    leases: dict[UUID, Lease] = field(default_factory=dict)
    promoted: list[Lease] = field(default_factory=list)
    # Scopes of which no request that was read can be granted.
    skipped: set[Scope] = field(default_factory=set)


def run_batch(state: PoolState, operations: Sequence[Operation]) -> Outcome:
    """Carry out the operations; change the state's ledger, head, epoch and mean."""
    return _Batch(state).run(operations)


class _Batch:
    def __init__(self, state: PoolState) -> None:
        self.state = state
        self.outcome = Outcome()
        self.by_key = {lease.key: lease.id for lease in state.leases.values() if lease.state in LIVE}
        # Requests of this batch, by the id that their lease gets.
        self.arrivals: dict[UUID, Acquire] = {}

    def run(self, operations: Sequence[Operation]) -> Outcome:
        results: dict[int, Result] = {}
        for kind in (Release, Renew):
            for index, operation in enumerate(operations):
                if isinstance(operation, kind):
                    results[index] = self._end_or_renew(operation)
        requests = {
            index: self._request(operation)
            for index, operation in enumerate(operations)
            if isinstance(operation, Acquire)
        }
        self._grant()
        for index, result in requests.items():
            results[index] = (
                result if isinstance(result, TokenInUse) else self._answer(operations[index], result)
            )
        self.outcome.results = [results[index] for index in range(len(operations))]
        return self.outcome

    def _end_or_renew(self, operation: Release | Renew) -> Result:
        return self._end(operation) if isinstance(operation, Release) else self._renew(operation)

    def _end(self, operation: Release) -> Released:
        lease_id = operation.lease_id or (self.by_key.get(operation.key) if operation.key else None)
        lease = self._lease(lease_id)
        if lease is None or not self._may_end(lease, operation):
            return Released(None)
        is_held = lease.state is LeaseState.GRANTED
        state = operation.state if is_held else LeaseState.CANCELLED
        if is_held and lease.granted_at:
            self._note_hold((self.state.now - lease.granted_at).total_seconds())
        ended = replace(lease, state=state, ended_at=self.state.now)
        self._store(ended, instead_of=lease)
        del self.by_key[lease.key]
        return Released(ended)

    def _may_end(self, lease: Lease, operation: Release) -> bool:
        is_over = lease.expires_at is not None and lease.expires_at <= self.state.now
        is_meant = operation.epoch in (None, lease.epoch) and (is_over or not operation.if_expired)
        return lease.state in LIVE and is_meant

    def _renew(self, operation: Renew) -> Result:
        lease = self._lease(operation.lease_id)
        if lease is None or lease.state is not LeaseState.GRANTED or lease.epoch != operation.epoch:
            return Lost()
        return Granted(self._extended(lease, operation.lease_seconds), is_new=False)

    def _extended(self, lease: Lease, seconds: int | None) -> Lease:
        seconds = lease.lease_seconds if seconds is None else seconds
        granted_at = lease.granted_at or self.state.now
        end = lease_end(self.state.terms, seconds, granted_at, self.state.now)
        renewed = replace(lease, expires_at=end, lease_seconds=seconds)
        self._store(renewed, instead_of=lease)
        return renewed

    def _request(self, request: Acquire) -> UUID | TokenInUse:
        """Return the id of the lease that the request concerns, new or not."""
        lease_id = self.by_key.get(request.key)
        if lease_id in self.arrivals:
            same = self.arrivals[lease_id]
            return TokenInUse(same.units) if _differs(same, request) else lease_id
        lease = self._lease(lease_id)
        if lease is None:
            self.arrivals[request.lease_id] = request
            self.by_key[request.key] = request.lease_id
            return request.lease_id
        if _differs(lease, request):
            return TokenInUse(lease.units)
        if lease.state is LeaseState.WAITING:
            patient = replace(lease, expires_at=self.state.now + request.patience, priority=request.priority)
            self._store(patient, instead_of=lease)
        elif request.lease_seconds is not None:
            self._extended(lease, request.lease_seconds)
        return lease.id

    def _grant(self) -> None:
        """Give the free units to requests that arrive or wait."""
        state = self.state
        waiting = {lease.id: self._lease(lease.id) or lease for lease in state.queue}
        waiting |= {lease.id: lease for lease in self.outcome.leases.values()}
        arriving = [self._arriving(*numbered) for numbered in enumerate(self.arrivals.values())]
        candidates = [lease for lease in waiting.values() if lease.state is LeaseState.WAITING] + arriving
        selection = select(
            state.terms, state.limits, state.ledger, candidates, head=state.head, now=state.now
        )
        state.head, self.outcome.skipped = selection.head, selection.skipped
        for lease in selection.granted:
            self._note_grant(lease)
        for lease in arriving:
            if (
                lease.id not in self.outcome.leases
                and self.arrivals[lease.id].is_queued
                and self._has_place(lease)
            ):
                self.outcome.leases[lease.id] = lease
                state.ledger.add(lease)

    def _arriving(self, number: int, request: Acquire) -> Lease:
        terms, now = self.state.terms, self.state.now
        seconds = terms.lease_seconds if request.lease_seconds is None else request.lease_seconds
        return Lease(
            request.lease_id,
            request.token,
            request.scope,
            request.units,
            LeaseState.WAITING,
            # Requests of one batch keep their order.
            requested_at=now + number * timedelta(microseconds=1),
            priority=request.priority,
            expires_at=now + request.patience,
            lease_seconds=seconds,
            holder_id=request.holder_id,
            door=request.door,
            attributes=request.attributes,
            caps=request.caps,
        )

    def _note_grant(self, lease: Lease) -> None:
        """Store a lease whose units the selection has counted."""
        state = self.state
        state.epoch += 1
        end = lease_end(state.terms, lease.lease_seconds, state.now, state.now)
        granted = replace(
            lease, state=LeaseState.GRANTED, granted_at=state.now, expires_at=end, epoch=state.epoch
        )
        if lease.id not in self.arrivals:
            state.ledger.add(lease, -1)
            self.outcome.promoted.append(granted)
        self.outcome.leases[lease.id] = granted

    def _has_place(self, lease: Lease) -> bool:
        """Return whether the queue takes the request. A scope that fills it leaves places to others."""
        terms, ledger = self.state.terms, self.state.ledger
        if terms.grant_mode is GrantMode.FREE or not terms.queue_limit:
            return False
        own = ledger.waiting(fair_scope(terms, lease.scope))
        return ledger.waiting(Scope()) < terms.queue_limit or own < terms.queue_limit // _SHARE

    def _answer(self, operation: Operation, lease_id: UUID) -> Result:
        assert isinstance(operation, Acquire)
        lease = self._lease(lease_id)
        if lease is not None and lease.state is LeaseState.GRANTED:
            return Granted(
                lease, is_new=lease.granted_at == self.state.now and lease.id in self.outcome.leases
            )
        obstacles = self._obstacles(operation)
        if lease is not None:
            return Queued(lease, obstacles)
        return Refused(obstacles, is_full=operation.is_queued)

    def _obstacles(self, request: Acquire) -> list[Obstacle]:
        state = self.state
        obstacles = find_obstacles(
            state.terms, state.limits, state.ledger, request.scope, request.units, caps=request.caps
        )
        total = state.ledger.used(Scope())
        return obstacles or [Obstacle(Scope(), Reason.QUEUE, state.terms.capacity, total)]

    def _lease(self, lease_id: UUID | None) -> Lease | None:
        if lease_id is None:
            return None
        return self.outcome.leases.get(lease_id) or self.state.leases.get(lease_id)

    def _store(self, lease: Lease, *, instead_of: Lease) -> None:
        self.state.ledger.add(instead_of, -1)
        self.state.ledger.add(lease)
        self.outcome.leases[lease.id] = lease

    def _note_hold(self, seconds: float) -> None:
        mean = self.state.mean_hold_seconds
        self.state.mean_hold_seconds = (
            seconds if mean is None else (1 - _SMOOTHING) * mean + _SMOOTHING * seconds
        )


def _differs(lease: Lease | Acquire, request: Acquire) -> bool:
    """True if the request is no repetition, although it has the token of the lease."""
    is_other = lease.holder_id != request.holder_id and not request.sees_others
    return lease.units != request.units or is_other
