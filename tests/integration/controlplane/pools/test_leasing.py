"""Leases in Postgres: what one process decides, all see; what two decide at once agrees."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import close_old_connections, connection, connections
from django.db.models.functions import Now

from controlplane.events.models import Event
from controlplane.ids import uuid7
from controlplane.observability.metrics import exposition
from controlplane.pools import drift, expiry, leasing, metrics
from controlplane.pools.models import Pool, PoolLease, PoolLimit, PoolSweep, PoolUsage
from controlplane.pools.operations import (
    Acquire,
    Granted,
    Lost,
    Operation,
    Queued,
    Refused,
    Release,
    Renew,
    Result,
)
from controlplane.pools.terms import LeaseState
from controlplane.scopes import Scope

ML, DATA = Scope("prod", "ml"), Scope("prod", "data")


def make_pool(capacity: int = 2, **fields: object) -> Pool:
    return Pool.objects.create(name=f"pool-{Pool.objects.count()}", capacity=capacity, **fields)


def used(pool: Pool, scope: Scope = Scope()) -> int:
    row = PoolUsage.objects.at(scope).filter(pool=pool).first()
    return row.used if row else 0


def overdue(pool: Pool) -> None:
    """Let all live leases of the pool be overdue, and sweeps have run for long."""
    PoolLease.objects.filter(pool=pool).update(expires_at=Now() - timedelta(minutes=10))
    PoolSweep.objects.update_or_create(
        id=1, defaults={"last_sweep_at": Now(), "reachable_since": Now() - timedelta(days=1)}
    )


def test_a_lease_counts_at_every_scope_that_covers_it(db):
    pool = make_pool(5)
    granted = leasing.run(pool.id, Acquire("a", ML, units=2))
    assert isinstance(granted, Granted)
    for scope in ML.ladder():
        assert used(pool, scope) == 2
    leasing.run(pool.id, Release(granted.lease.id))
    assert used(pool) == 0
    assert PoolLease.objects.get(id=granted.lease.id).state == LeaseState.RELEASED


def test_what_was_stored_decides_the_next_batch(db):
    pool = make_pool(1)
    first = leasing.run(pool.id, Acquire("a", ML))
    assert isinstance(first, Granted)
    again = leasing.run(pool.id, Acquire("a", ML))
    assert isinstance(again, Granted)
    assert again.lease == first.lease
    assert isinstance(leasing.run(pool.id, Acquire("b", DATA)), Refused)
    waiting = leasing.run(pool.id, Acquire("b", DATA, is_queued=True))
    assert isinstance(waiting, Queued)
    leasing.run(pool.id, Release(first.lease.id))
    stored = PoolLease.objects.get(id=waiting.lease.id)
    assert (stored.state, stored.epoch) == (LeaseState.GRANTED, 2)
    event = Event.objects.get(type="pool.granted")
    assert event.data == {
        "pool": pool.name,
        "lease": str(stored.id),
        "token": "b",
        "units": 1,
        "epoch": 2,
    }


def test_limits_are_read_again_when_they_change(db):
    pool = make_pool(5)
    assert isinstance(leasing.run(pool.id, Acquire("a", ML)), Granted)
    PoolLimit.objects.create(pool=pool, project="ml", cap=1)
    Pool.objects.filter(id=pool.id).update(limits_version=uuid7())
    assert isinstance(leasing.run(pool.id, Acquire("b", ML)), Refused)


def test_the_sweep_ends_overdue_leases_and_serves_the_queue(db):
    pool = make_pool(1)
    first = leasing.run(pool.id, Acquire("a", ML))
    assert isinstance(first, Granted)
    overdue(pool)
    waiting = leasing.run(pool.id, Acquire("b", DATA, is_queued=True))
    assert expiry.sweep_pools() == 1
    assert PoolLease.objects.get(id=first.lease.id).state == LeaseState.EXPIRED
    assert PoolLease.objects.get(id=waiting.lease.id).state == LeaseState.GRANTED
    assert isinstance(leasing.run(pool.id, Renew(first.lease.id, first.lease.epoch)), Lost)
    assert Event.objects.filter(type="pool.lease_expired").count() == 1


def test_no_lease_ends_before_the_grace_after_an_outage(db):
    pool = make_pool(1, lease_seconds=60)
    leasing.run(pool.id, Acquire("a", ML))
    overdue(pool)
    PoolSweep.objects.update(last_sweep_at=Now() - timedelta(minutes=10))
    assert expiry.sweep_pools() == 0
    # 50 of 60 seconds later, with sweeps all the time.
    PoolSweep.objects.update(last_sweep_at=Now(), reachable_since=Now() - timedelta(seconds=50))
    assert expiry.sweep_pools() == 0
    PoolSweep.objects.update(last_sweep_at=Now(), reachable_since=Now() - timedelta(minutes=10))
    assert expiry.sweep_pools() == 1


def test_a_request_that_nobody_repeats_leaves_the_queue(db):
    pool = make_pool(0)
    waiting = leasing.run(pool.id, Acquire("a", ML, is_queued=True))
    assert isinstance(waiting, Queued)
    overdue(pool)
    expiry.sweep_pools()
    assert PoolLease.objects.get(id=waiting.lease.id).state == LeaseState.CANCELLED
    assert PoolUsage.objects.at(Scope()).get(pool=pool).waiting == 0


def test_a_request_that_nobody_repeats_gets_nothing_before_the_sweep_either(db):
    pool = make_pool(1)
    first = leasing.run(pool.id, Acquire("a", ML))
    assert isinstance(first, Granted)
    waiting = leasing.run(pool.id, Acquire("b", DATA, is_queued=True))
    overdue(pool)
    leasing.run(pool.id, Release(first.lease.id))
    assert PoolLease.objects.get(id=waiting.lease.id).state == LeaseState.WAITING
    repeated = leasing.run(pool.id, Acquire("b", DATA, is_queued=True))
    assert isinstance(repeated, Granted)


def test_more_requests_that_do_not_fit_than_one_read_hide_none_that_does(db):
    pool = make_pool(3)
    PoolLimit.objects.create(pool=pool, project="ml", domain="prod", cap=0)
    Pool.objects.filter(id=pool.id).update(limits_version=uuid7())
    holder = leasing.run(pool.id, Acquire("holder", DATA, units=3))
    assert isinstance(holder, Granted)
    capped = [Acquire(f"capped-{number}", ML, is_queued=True) for number in range(60)]
    leasing.run_operations(pool.id, capped)
    behind = leasing.run(pool.id, Acquire("behind", Scope("test", "ml"), is_queued=True))
    assert isinstance(behind, Queued)
    leasing.run(pool.id, Release(holder.lease.id))
    assert PoolLease.objects.get(id=behind.lease.id).state == LeaseState.GRANTED


def test_drift_is_found_and_mended(db):
    pool = make_pool(3)
    leasing.run(pool.id, Acquire("a", ML, units=2))
    assert drift.mend_drift() == 0
    PoolUsage.objects.at(Scope()).filter(pool=pool).update(used=3)
    PoolUsage.objects.at(ML).filter(pool=pool).delete()
    assert drift.mend_drift() == 3
    assert [used(pool, scope) for scope in ML.ladder()] == [2, 2, 2, 2]
    assert drift.mend_drift() == 0
    assert Event.objects.filter(type="pool.mended").count() == 1
    assert b"cp_pool_drift 3.0" in exposition().text
    PoolSweep.objects.update(drifted_at=Now() - timedelta(minutes=61))
    assert b"cp_pool_drift 0.0" in exposition().text


def test_a_pool_is_exhausted_once_and_recovers_once(db):
    pool = make_pool(1)
    first = leasing.run(pool.id, Acquire("a", ML))
    assert isinstance(first, Granted)
    leasing.run(pool.id, Acquire("b", ML, is_queued=True))
    expiry.sweep_pools()
    assert not Event.objects.filter(type="pool.exhausted").exists()
    long_ago = Now() - timedelta(minutes=10)
    PoolLease.objects.filter(token="b").update(requested_at=long_ago)
    Pool.objects.update(last_grant_at=long_ago)
    for _ in range(2):
        expiry.sweep_pools()
    assert Event.objects.filter(type="pool.exhausted").count() == 1
    leasing.run(pool.id, Release(first.lease.id))
    for _ in range(2):
        expiry.sweep_pools()
    assert Event.objects.filter(type="pool.recovered").count() == 1


def test_ended_leases_are_deleted_after_an_hour(db):
    pool = make_pool(2)
    for token in ("a", "b"):
        granted = leasing.run(pool.id, Acquire(token, ML))
        assert isinstance(granted, Granted)
        leasing.run(pool.id, Release(granted.lease.id))
    PoolLease.objects.filter(token="a").update(ended_at=Now() - timedelta(minutes=61))
    assert expiry.delete_ended() == 1
    assert PoolLease.objects.get().token == "b"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_gathered", [True, False])
def test_many_clients_never_hold_more_than_the_capacity(is_gathered):
    """In one process, whose threads share transactions; and in many, where the lock alone orders them."""
    pool = make_pool(5)

    def ask(operation: Operation) -> Result:
        if is_gathered:
            return leasing.run(pool.id, operation)
        return leasing.run_operations(pool.id, [operation])[0]

    lock, holders, most = threading.Lock(), 0, 0

    def work(client: int) -> int:
        nonlocal holders, most
        got = 0
        try:
            for turn in range(25):
                close_old_connections()
                result = ask(Acquire(f"{client}-{turn}", ML))
                if isinstance(result, Granted):
                    got += 1
                    with lock:
                        holders += 1
                        most = max(most, holders)
                    with lock:
                        holders -= 1
                    ask(Release(result.lease.id, epoch=result.lease.epoch))
        finally:
            connections.close_all()
        return got

    with ThreadPoolExecutor(16) as threads:
        total = sum(threads.map(work, range(16)))
    assert total > 0
    assert most <= 5
    assert used(pool) == 0
    assert PoolLease.objects.filter(state=LeaseState.RELEASED).count() == total
    epochs = PoolLease.objects.values_list("epoch", flat=True)
    assert len(set(epochs)) == total
    connection.close()


def test_figures_of_pools_are_scraped(db):
    pool = make_pool(3)
    leasing.run(pool.id, Acquire("a", ML, units=2))
    leasing.run(pool.id, Acquire("b", DATA, units=2, is_queued=True))
    text = exposition().text.decode()
    for metric, value in (("capacity", 3.0), ("used", 2.0), ("waiting", 1.0), ("starved_seconds", 0.0)):
        assert f'cp_pool_{metric}{{pool="{pool.name}"}} {value}' in text


def test_pools_beyond_two_hundred_are_added_up(db):
    Pool.objects.bulk_create(Pool(name=f"many-{number:03}", capacity=1) for number in range(203))
    text = exposition().text.decode()
    assert text.count("cp_pool_capacity{") == 201
    assert 'cp_pool_capacity{pool="other"} 3.0' in text


def test_results_are_counted_once_they_are_committed(db, django_capture_on_commit_callbacks):
    pool, granted = make_pool(2), metrics.GRANTS.labels("granted")
    before = granted._value.get()
    with django_capture_on_commit_callbacks(execute=False):
        leasing.run(pool.id, Acquire("a", ML))
    assert granted._value.get() == before
    with django_capture_on_commit_callbacks(execute=True):
        leasing.run(pool.id, Acquire("b", DATA))
    assert granted._value.get() == before + 1
