"""Pools through the protocol of Redis, as FlytePropeller uses it."""

from __future__ import annotations

import socket
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis
from django.conf import settings

from controlplane.pools.models import Pool, PoolLease
from controlplane.scopes import Scope
from tests.support.api_client import token_for
from tests.support.redis_door import KEY, allocate, client, door_process, running_door

POOL = "agent-service:default"
TOKEN = "ex:shop:prod:f1-n0-0"


@pytest.fixture(scope="module")
def port(system: Any) -> Any:
    with running_door(system) as port:
        yield port


@pytest.fixture
def door(live: Any, port: int) -> int:
    return port


def test_propeller_gets_units_and_returns_them(door):
    Pool.objects.create(name=POOL, capacity=1)
    server = client(door, token_for("operator"))
    assert server.ping()
    assert allocate(server, TOKEN, quota=1000)
    assert allocate(server, TOKEN, quota=1000)
    assert not allocate(server, "ex:shop:prod:f2-n0-0", quota=1_000_000)
    lease = PoolLease.objects.get(state="granted")
    assert (lease.scope, lease.door, lease.lease_seconds) == (Scope("prod", "shop"), "redis", 0)
    assert (lease.expires_at - lease.granted_at).total_seconds() == 86_400
    assert server.srem(KEY, TOKEN) == 1
    assert server.srem(KEY, TOKEN) == 0
    assert allocate(server, "ex:shop:prod:f2-n0-0", quota=1000)
    assert server.smembers(KEY) == set()


def test_a_command_that_adds_never_exceeds_the_pool(door):
    Pool.objects.create(name=POOL, capacity=1)
    server = client(door, token_for("operator"))
    assert server.sadd(KEY, TOKEN) == 1
    with pytest.raises(redis.ResponseError, match="OVERLIMIT"):
        server.sadd(KEY, "ex:shop:prod:f2-n0-0")
    assert server.scard(KEY) == 2**31


def test_only_services_that_may_use_the_pool_get_units(door):
    Pool.objects.create(name=POOL, capacity=1)
    with pytest.raises(redis.AuthenticationError):
        client(door, "cp_pat_wrong").ping()
    with pytest.raises(redis.AuthenticationError):
        client(door).sismember(KEY, TOKEN)
    with pytest.raises(redis.exceptions.NoPermissionError):
        client(door, token_for("viewer")).sismember(KEY, TOKEN)
    elsewhere = client(door, token_for("editor", scope=Scope(project="data")))
    with pytest.raises(redis.exceptions.NoPermissionError):
        elsewhere.sismember(KEY, TOKEN)
    assert elsewhere.sismember(KEY, "ex:data:prod:f1-n0-0")


def test_other_keys_and_commands_do_not_exist(door):
    server = client(door, token_for("operator"))
    with pytest.raises(redis.ResponseError, match="redisresourcemanager"):
        server.sismember("sessions", "a")
    for command in (["FLUSHALL"], ["KEYS", "*"], ["SISMEMBER", KEY], ["SELECT", "1"]):
        with pytest.raises(redis.ResponseError):
            server.execute_command(*command)
    assert server.execute_command("SELECT", "0")


def test_a_pool_that_nobody_has_defined_is_made_closed(door):
    server = client(door, token_for("operator"))
    assert not allocate(server, TOKEN, quota=1000)
    pool = Pool.objects.get()
    assert (pool.name, pool.capacity, pool.is_open) == (POOL, 0, False)


def test_a_client_makes_no_more_than_a_hundred_pools(door):
    made = [
        Pool(name=f"made-{number}", capacity=0, title="Made when Flyte asked for it") for number in range(100)
    ]
    Pool.objects.bulk_create(made)
    with pytest.raises(redis.ResponseError, match="100 pools were made for Flyte already"):
        client(door, token_for("operator")).sismember(KEY, TOKEN)
    assert Pool.objects.count() == 100


def test_a_pool_that_nobody_has_defined_can_have_a_capacity(live):
    with running_door(live, POOLS_REDIS_DEFAULT_CAPACITY="1", POOLS_REDIS_TRUE_COUNTS="true") as other:
        server = client(other, token_for("operator"))
        assert server.sismember(KEY, TOKEN)
        assert server.scard(KEY) == 1


def test_what_is_no_command_ends_the_connection_alone(door):
    Pool.objects.create(name=POOL, capacity=1)
    server = client(door, token_for("operator"))
    server.ping()
    with socket.create_connection(("127.0.0.1", door), timeout=10) as broken:
        broken.sendall(b"*99\r\n")
        assert broken.recv(200).startswith(b"-ERR Protocol error")
        assert broken.recv(200) == b""
    assert server.sismember(KEY, TOKEN)


def most_holders(server: Any, capacity: int, clients: int, turns: int) -> int:
    """Let clients allocate and release as upstream does; return how many held a unit at once."""
    lock, holders, most = threading.Lock(), 0, 0
    start = threading.Barrier(clients)

    def work(number: int) -> None:
        nonlocal holders, most
        for turn in range(turns):
            token = f"ex:shop:prod:f{number}-{turn}"
            start.wait(30)
            got = allocate(server, token, capacity)
            if got:
                with lock:
                    holders += 1
                    most = max(most, holders)
            start.wait(30)
            if got:
                server.srem(KEY, token)
                with lock:
                    holders -= 1

    with ThreadPoolExecutor(clients) as threads:
        list(threads.map(work, range(clients)))
    return most


def test_no_unit_is_granted_twice_where_upstream_grants_too_many(door):
    Pool.objects.create(name=POOL, capacity=3, grant_mode="free")
    ours = most_holders(client(door, token_for("operator")), 3, clients=16, turns=6)
    valkey = redis.Redis.from_url(settings.REDIS_URL)
    valkey.delete(KEY)
    theirs = most_holders(valkey, 3, clients=16, turns=6)
    valkey.delete(KEY)
    print(f"capacity 3, most at once: ours {ours}, upstream's algorithm on Valkey {theirs}")
    assert ours == 3
    assert theirs > 3


def test_a_door_that_leaves_serves_new_clients_until_a_second_signal(live: Any) -> None:
    with door_process(live, LEAVE_SECONDS="30") as (port, process):
        process.terminate()

        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
        assert client(port).ping()

        process.terminate()
        assert process.wait(15) == 0
