"""Requests for units that wait at the running server, without a thread."""

from __future__ import annotations

import json
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from controlplane.pools.models import Pool
from controlplane.pools.pools import PoolSpec, change_pool
from tests.support.api_client import ACTOR, token_for


@pytest.fixture
def ask(live: Any) -> Any:
    token = token_for("admin")

    def call(method: str, path: str, body: Any = None) -> tuple[int, Any]:
        request = urllib.request.Request(
            f"{live.url}/api/v1/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=25) as response:
            text = response.read()
            return response.status, json.loads(text) if text else None

    return call


def test_a_request_waits_until_a_unit_is_free(ask):
    ask("PUT", "pools/gpu", {"capacity": 1})
    _, first = ask("POST", "pools/gpu/leases", {"token": "first"})
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(
            ask,
            "POST",
            "pools/gpu/leases",
            {"token": "second", "scope": {"project": "p"}, "wait_seconds": 20},
        )
        time.sleep(1)
        assert not waiting.done()
        started_at = time.monotonic()
        ask("DELETE", f"pools/gpu/leases/{first['id']}")
        status, lease = waiting.result()
    assert (status, lease["state"], lease["token"], lease["epoch"]) == (201, "granted", "second", 2)
    assert time.monotonic() - started_at < 10


def test_a_wait_that_ends_in_vain_stays_in_the_queue(ask):
    ask("PUT", "pools/gpu", {"capacity": 0})
    started_at = time.monotonic()
    status, lease = ask("POST", "pools/gpu/leases", {"token": "first", "wait_seconds": 1})
    assert (status, lease["state"], lease["position"]) == (202, "waiting", 1)
    assert time.monotonic() - started_at >= 1
    status, same = ask("GET", f"pools/gpu/leases/{lease['id']}?wait=1")
    assert (status, same["state"]) == (200, "waiting")


def test_a_lease_is_read_as_soon_as_it_is_granted(ask):
    ask("PUT", "pools/gpu", {"capacity": 0})
    _, lease = ask("POST", "pools/gpu/leases", {"token": "first", "queue": True})
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(ask, "GET", f"pools/gpu/leases/{lease['id']}?wait=20")
        time.sleep(0.5)
        change_pool(Pool.objects.get(), PoolSpec(1), precondition=None, actor=ACTOR)
        assert waiting.result()[1]["state"] == "granted"
