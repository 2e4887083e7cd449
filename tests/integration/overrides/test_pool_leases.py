"""Units of pools that ended executions still hold."""

from __future__ import annotations

import pytest

from controlplane.pools import leasing
from controlplane.pools.models import Pool, PoolLease
from controlplane.pools.operations import Acquire
from controlplane.pools.terms import Door
from controlplane.scopes import Scope
from overrides.executions.models import FlyteExecution
from overrides.executions.pool_leases import names_in, release_of_ended_executions

SHOP = Scope("prod", "my-shop")


def lease(pool: Pool, name: str, door: Door = Door.REDIS) -> str:
    token = f"ex:my-shop:prod:{name}-n0-0"
    leasing.run(pool.id, Acquire(token, SHOP, door=door, is_queued=True))
    return token


def execution(name: str, phase: str) -> None:
    FlyteExecution.objects.create(project="my-shop", domain="prod", name=name, phase=phase)


def live() -> set[str]:
    return set(PoolLease.objects.filter(state__in=["granted", "waiting"]).values_list("token", flat=True))


def test_names_of_executions_in_a_token():
    assert names_in("ex:my-shop:prod:f1-x-n0-0") == ["f1-x-n0", "f1-x", "f1"]
    assert names_in("ex:my-shop:prod:f1") == []


@pytest.mark.parametrize("phase", ["SUCCEEDED", "FAILED", "ABORTED", "TIMED_OUT"])
def test_leases_of_an_ended_execution_are_released(db, phase):
    pool = Pool.objects.create(name="p", capacity=1)
    lease(pool, "f1")
    waiting = lease(pool, "f2")
    execution("f1", phase)
    execution("f2", "RUNNING")
    assert release_of_ended_executions() == 1
    assert live() == {waiting}
    assert PoolLease.objects.get(token=waiting).state == "granted"
    assert release_of_ended_executions() == 0


def test_an_execution_with_a_longer_name_keeps_its_leases(db):
    pool = Pool.objects.create(name="p", capacity=9)
    kept = lease(pool, "f1-x")
    execution("f1", "SUCCEEDED")
    execution("f1-x", "RUNNING")
    assert release_of_ended_executions() == 0
    assert live() == {kept}


def test_leases_of_other_doors_are_theirs(db):
    pool = Pool.objects.create(name="p", capacity=9)
    kept = lease(pool, "f1", Door.REST)
    execution("f1", "SUCCEEDED")
    assert release_of_ended_executions() == 0
    assert live() == {kept}


def test_unknown_executions_keep_their_leases(db):
    kept = lease(Pool.objects.create(name="p", capacity=9), "f1")
    assert release_of_ended_executions() == 0
    assert live() == {kept}
