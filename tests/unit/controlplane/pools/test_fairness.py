"""Shares of scopes that want more than there is."""

from __future__ import annotations

import random
from collections import Counter

from controlplane.pools.operations import Acquire, Release
from controlplane.pools.terms import LeaseState, Limit, PoolTerms
from controlplane.scopes import Scope
from tests.support.pool_model import MemoryPool

ML, DATA, OPS = Scope(project="ml"), Scope(project="data"), Scope(project="ops")


def saturate(pool: MemoryPool, *scopes: Scope, number: int) -> None:
    for index in range(number):
        for scope in scopes:
            pool.ask(Acquire(f"{scope.project}-{index}", scope, is_queued=True))


def turn_over(pool: MemoryPool, rounds: int) -> Counter[str]:
    """Release units at random; return how many units each project held, summed over the rounds."""
    chance, held = random.Random(7), Counter[str]()
    for _ in range(rounds):
        pool.pass_time(1)
        pool.ask(Release(chance.choice(pool.in_state(LeaseState.GRANTED)).id))
        held.update(lease.scope.project for lease in pool.in_state(LeaseState.GRANTED))
    return held


def test_two_projects_share_by_their_weights():
    pool = MemoryPool(PoolTerms(20), [Limit(ML, weight=100), Limit(DATA, weight=300)])
    saturate(pool, ML, DATA, number=160)
    turn_over(pool, 40)
    held = turn_over(pool, 120)
    assert abs(held["ml"] / held.total() - 0.25) <= 0.03


def test_guaranteed_units_come_before_all_shares():
    pool = MemoryPool(PoolTerms(10))
    saturate(pool, ML, DATA, number=50)
    pool.limits = [Limit(OPS, guaranteed=2, weight=1)]
    pool.ask(Acquire("ops-1", OPS, is_queued=True), Acquire("ops-2", OPS, is_queued=True))
    held = pool.in_state(LeaseState.GRANTED)
    pool.ask(Release(held[0].id))
    assert [lease.token for lease in pool.last.promoted] == ["ops-1"]
    pool.ask(Release(held[1].id))
    assert [lease.token for lease in pool.last.promoted] == ["ops-2"]


def test_a_weight_is_inherited():
    pool = MemoryPool(PoolTerms(4), [Limit(Scope(), weight=300), Limit(ML, weight=100)])
    saturate(pool, ML, DATA, number=160)
    turn_over(pool, 30)
    held = turn_over(pool, 100)
    assert abs(held["data"] / held.total() - 0.75) <= 0.03


def test_a_request_of_a_light_scope_waits_no_longer_than_its_share():
    """Of one unit and weight 1 beside weight 9: at most ten holds, with one unit."""
    pool = MemoryPool(PoolTerms(1), [Limit(ML, weight=1), Limit(DATA, weight=9)])
    pool.ask(Acquire("first", DATA))
    saturate(pool, DATA, number=50)
    pool.ask(Acquire("light", ML, is_queued=True))
    for _ in range(10):
        pool.pass_time(1)
        (holder,) = pool.in_state(LeaseState.GRANTED)
        pool.ask(Release(holder.id))
        if pool.last.promoted[0].token == "light":
            return
    raise AssertionError("It waited for more than ten holds.")
