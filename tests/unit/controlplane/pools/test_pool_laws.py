"""Laws of pools, whatever happens: capacity, caps, idempotency, epochs, and that no unit lies idle."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from controlplane.pools.ledger import Limits, find_obstacles
from controlplane.pools.operations import Acquire, Granted, Queued, Release, Renew
from controlplane.pools.queue_order import OVERTAKING
from controlplane.pools.terms import GrantMode, Lease, LeaseState, Limit, PoolTerms, fair_scope
from controlplane.scopes import Level, Scope
from tests.support.pool_model import MemoryPool

SCOPES = [
    Scope(),
    Scope(domain="prod"),
    Scope(project="ml"),
    Scope(project="ml2"),
    Scope("prod", "ml"),
    Scope("test", "ml2"),
    Scope("prod", "ml", "train"),
    Scope("prod", "ml", "train", "nightly"),
]
GROUPS = [scope for scope in SCOPES if scope.level is Level.PROJECT]
TOKENS = ["a", "b", "c"]


class Pools(RuleBasedStateMachine):
    @initialize(
        capacity=st.integers(0, 6),
        mode=st.sampled_from([GrantMode.FAIR, GrantMode.FIFO]),
        caps=st.dictionaries(st.sampled_from(SCOPES), st.integers(0, 4), max_size=3),
        weights=st.dictionaries(st.sampled_from(GROUPS), st.integers(1, 1000), max_size=2),
        guaranteed=st.dictionaries(st.sampled_from(GROUPS), st.integers(1, 2), max_size=1),
    )
    def begin(self, capacity, mode, caps, weights, guaranteed):
        scopes = {*caps, *weights, *guaranteed}
        limits = [
            Limit(scope, caps.get(scope), min(guaranteed.get(scope, 0), capacity), weights.get(scope))
            for scope in scopes
        ]
        self.pool = MemoryPool(PoolTerms(capacity, grant_mode=mode), limits)
        self.epochs: list[int] = []

    @rule(
        scope=st.sampled_from(SCOPES),
        token=st.sampled_from(TOKENS),
        units=st.integers(1, 3),
        is_queued=st.booleans(),
        priority=st.integers(0, 2),
    )
    def acquire(self, scope, token, units, is_queued, priority):
        request = Acquire(token, scope, units, is_queued=is_queued, priority=priority)
        before = {lease.key: lease for lease in self.live()}
        expected = self.naive_order() if self.pool.terms.grant_mode is GrantMode.FAIR else None
        (result,) = self.pool.ask(request)
        assert expected is None or expected == []
        earlier = before.get(request.key)
        if isinstance(result, Granted | Queued) and earlier:
            assert result.lease.id == earlier.id
            assert result.lease.epoch == earlier.epoch or earlier.state is LeaseState.WAITING
        self.note_epochs()

    @rule(index=st.integers(0, 50))
    def release(self, index):
        live = self.live()
        if live:
            self.pool.ask(Release(live[index % len(live)].id))
            self.note_epochs()

    @rule(index=st.integers(0, 50), is_current=st.booleans())
    def renew(self, index, is_current):
        held = self.pool.in_state(LeaseState.GRANTED)
        if held:
            lease = held[index % len(held)]
            (result,) = self.pool.ask(Renew(lease.id, lease.epoch if is_current else lease.epoch - 1))
            assert isinstance(result, Granted) is is_current

    @rule(seconds=st.sampled_from([1, 29, 31]))
    def pass_time(self, seconds):
        self.pool.pass_time(seconds)

    @rule(capacity=st.integers(0, 6))
    def resize(self, capacity):
        guaranteed = sum(limit.guaranteed for limit in self.pool.limits)
        self.pool.terms = PoolTerms(max(capacity, guaranteed), grant_mode=self.pool.terms.grant_mode)
        self.pool.ask()
        self.note_epochs()

    @invariant()
    def grants_keep_all_limits(self):
        """Nothing new exceeds a limit: what is above one was granted before the pool was resized."""
        if not hasattr(self, "pool"):
            return
        ledger = self.pool.ledger()
        for limit in self.pool.limits:
            assert limit.cap is None or ledger.used(limit.scope) <= limit.cap
        fresh = [lease for lease in self.pool.last.leases.values() if lease.granted_at == self.pool.now]
        if any(lease.state is LeaseState.GRANTED for lease in fresh) and self.pool.last.promoted:
            assert ledger.used(Scope()) <= self.pool.terms.capacity

    @invariant()
    def no_request_waits_that_fits(self):
        if hasattr(self, "pool") and self.pool.terms.grant_mode is GrantMode.FAIR and not self.is_kept():
            assert self.naive_order() == []

    def naive_order(self) -> list[Lease]:
        """Return the waiting requests that fit, fairest first, in few lines."""
        if self.is_kept():
            return []
        terms, limits, ledger = self.pool.terms, Limits.of(self.pool.limits), self.pool.ledger()
        fitting = [
            lease
            for lease in self.pool.in_state(LeaseState.WAITING)
            if not find_obstacles(terms, limits, ledger, lease.scope, lease.units)
        ]

        def rank(lease: Lease):
            group = fair_scope(terms, lease.scope)
            return (not limits.unmet(group, ledger), ledger.used(group) / limits.weight(group))

        return sorted(fitting, key=rank)

    def is_kept(self) -> bool:
        head = self.pool.head
        return head is not None and self.pool.now - head.since >= OVERTAKING

    def live(self) -> list[Lease]:
        return [*self.pool.in_state(LeaseState.GRANTED), *self.pool.in_state(LeaseState.WAITING)]

    def note_epochs(self):
        new = sorted(
            lease.epoch
            for lease in self.pool.last.leases.values()
            if lease.state is LeaseState.GRANTED and lease.granted_at == self.pool.now
        )
        fresh = [epoch for epoch in new if epoch not in self.epochs]
        assert all(epoch > max(self.epochs, default=0) for epoch in fresh)
        self.epochs += fresh


TestPools = Pools.TestCase
