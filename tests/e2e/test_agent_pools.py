"""The reference agent's leases of pools, against the running server."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from controlplane.pools.models import Pool, PoolLease
from tests.support.api_client import Api, token_for
from tests.support.paths import ROOT
from tests.support.waiting import until

FOLDER = str(ROOT / "examples" / "agent")


@pytest.fixture
def pools() -> Iterator[Any]:
    sys.path.insert(0, FOLDER)
    yield importlib.import_module("pools")
    sys.path.remove(FOLDER)
    for name in ("pools", "control_plane"):
        sys.modules.pop(name, None)


def agent_of(live: Any) -> Any:
    return sys.modules["control_plane"].ControlPlane(live.url, token_for("agent"), None)


def held() -> int:
    return PoolLease.objects.filter(state="granted").count()


def test_a_lease_lasts_as_long_as_the_work(live, pools):
    # Renewed every two seconds: shorter leases end on a busy machine.
    Pool.objects.create(name="gpu", capacity=1, lease_seconds=6)
    with pools.pool(agent_of(live), "gpu").lease("train") as lease:
        time.sleep(8)
        assert (held(), lease.epoch, lease.lost.is_set()) == (1, 1, False)
    assert held() == 0


def test_work_waits_for_its_turn(live, pools):
    Pool.objects.create(name="gpu", capacity=1)
    agent, other = agent_of(live), agent_of(live)

    def work() -> int:
        with pools.pool(other, "gpu").lease("second", wait_seconds=20) as lease:
            return int(lease.epoch)

    with ThreadPoolExecutor(1) as thread:
        with pools.pool(agent, "gpu").lease("first"):
            second = thread.submit(work)
            until(lambda: PoolLease.objects.filter(state="waiting").exists(), seconds=60)
        assert second.result(20) == 2


def test_without_units_no_work_begins(live, pools):
    Pool.objects.create(name="gpu", capacity=0)
    agent = agent_of(live)
    for seconds in (0, 1):
        with pytest.raises(pools.NoUnits), pools.pool(agent, "gpu").lease("train", wait_seconds=seconds):
            raise AssertionError("The work began.")
    assert not PoolLease.objects.filter(state="waiting").exists()


def test_a_revoked_lease_stops_the_work(live, pools):
    Pool.objects.create(name="gpu", capacity=1, lease_seconds=2)
    with pools.pool(agent_of(live), "gpu").lease("train") as lease:
        revoked = Api(token_for("admin")).post(f"pools/gpu/leases/{lease.id}:revoke")
        assert revoked.json().get("state") == "revoked", revoked.json()
        assert lease.lost.wait(10)
