"""A pool in memory: keeps what `run_batch` decides, as the database does."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from controlplane.pools.batch import Outcome, PoolState, run_batch
from controlplane.pools.ledger import Ledger, Limits
from controlplane.pools.operations import Operation, Result
from controlplane.pools.queue_order import Head
from controlplane.pools.terms import LIVE, Lease, LeaseState, Limit, PoolTerms
from controlplane.scopes import Scope

START = datetime(2026, 11, 24, tzinfo=UTC)


@dataclass
class MemoryPool:
    terms: PoolTerms
    limits: list[Limit] = field(default_factory=list)
    now: datetime = START
    leases: dict[UUID, Lease] = field(default_factory=dict)
    head: Head | None = None
    epoch: int = 0
    turns: dict[Scope, float] = field(default_factory=dict)
    clock: float = 0.0
    last: Outcome = field(default_factory=Outcome)

    def ask(self, *operations: Operation) -> list[Result]:
        state = self.state()
        self.last = run_batch(state, operations)
        self.leases |= self.last.leases
        self.head, self.epoch = state.head, state.epoch
        self.turns, self.clock = state.ledger.turns, state.ledger.clock
        # The ledger that the batch kept is the one that its leases make.
        assert {
            scope: counts for scope, counts in state.ledger.counts.items() if counts.used or counts.waiting
        } == {
            scope: counts for scope, counts in self.ledger().counts.items() if counts.used or counts.waiting
        }
        return list(self.last.results)

    def state(self) -> PoolState:
        live = {lease.id: lease for lease in self.leases.values() if lease.state in LIVE}
        waiting = [lease for lease in live.values() if lease.state is LeaseState.WAITING]
        return PoolState(
            self.terms, self.now, Limits.of(self.limits), self.ledger(), live, waiting, self.head, self.epoch
        )

    def ledger(self) -> Ledger:
        ledger = Ledger(turns=dict(self.turns), clock=self.clock)
        for lease in self.leases.values():
            ledger.add(lease)
        return ledger

    def in_state(self, state: LeaseState) -> list[Lease]:
        return [lease for lease in self.leases.values() if lease.state is state]

    def pass_time(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
