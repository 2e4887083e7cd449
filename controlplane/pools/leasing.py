"""Leases of pools: one transaction for each batch of operations, and batches for operations that meet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from django.db import connection, transaction

from controlplane.events import log
from controlplane.identity.actors import system
from controlplane.pools import metrics
from controlplane.pools.batch import Outcome, PoolState, run_batch
from controlplane.pools.event_types import POOL_GRANTED
from controlplane.pools.gathering import Gathering
from controlplane.pools.models import Pool
from controlplane.pools.operations import Operation, Result
from controlplane.pools.storage import FIRST_OF_QUEUE, load, save
from controlplane.pools.terms import Lease, competing_scope

ACTOR = system("pools").name


@transaction.atomic
def run_operations(pool_id: UUID, operations: Sequence[Operation]) -> list[Result]:
    """Carry out operations on one pool in one transaction. Raises UnknownPool."""
    loaded = load(pool_id, operations)
    outcome = run_batch(loaded.state, operations)
    if _hides_requests(loaded.state, outcome):
        # Requests that cannot be granted may hide others that can: read the whole queue.
        loaded = load(pool_id, operations, depth=loaded.state.terms.queue_limit)
        outcome = run_batch(loaded.state, operations)
    save(loaded, outcome)
    if outcome.promoted:
        log.append_each([_granted_event(loaded.pool, lease) for lease in outcome.promoted])
    transaction.on_commit(lambda: metrics.count(outcome, operations))
    return outcome.results


def _hides_requests(state: PoolState, outcome: Outcome) -> bool:
    """True if a scope of which no request can be granted has more of them than were read."""
    numbers = Counter(competing_scope(state.terms, lease.scope) for lease in state.queue)
    return any(numbers[scope] >= FIRST_OF_QUEUE for scope in outcome.skipped)


def _granted_event(pool: Pool, lease: Lease) -> log.Entry:
    data = {
        "pool": pool.name,
        "lease": str(lease.id),
        "token": lease.token,
        "units": lease.units,
        "epoch": lease.epoch,
    }
    return log.Entry(POOL_GRANTED, "pool_lease", str(lease.id), data, ACTOR, lease.scope, "", pool.team_id)


_gathering: Gathering[UUID, Operation, Result] = Gathering(run_operations)


def run(pool_id: UUID, operation: Operation) -> Result:
    """Carry out one operation, together with those that other threads ask of the pool meanwhile.

    Raises UnknownPool.
    """
    if connection.in_atomic_block:
        # The caller may still roll back, which must not take the answers of other threads with it.
        return run_operations(pool_id, [operation])[0]
    return _gathering.run(pool_id, operation)
