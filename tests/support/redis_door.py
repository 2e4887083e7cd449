"""The server of pools for Redis clients as a process, and propeller's algorithm in few lines."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from controlplane.local.programs import free_port
from tests.support.paths import ROOT
from tests.support.waiting import until

KEY = "redisresourcemanager:agent-service:default"


@contextmanager
def running_door(live: Any, **settings: str) -> Iterator[int]:
    """Serve the database of the running system; yield the port."""
    with door_process(live, **settings) as (port, _):
        yield port


@contextmanager
def door_process(live: Any, **settings: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Yield the port and the process."""
    port = free_port()
    environment = {**os.environ, **live.environment, "POOLS_REDIS_PORT": str(port), **settings}
    process = subprocess.Popen([sys.executable, "manage.py", "pools_redis"], cwd=ROOT, env=environment)
    try:
        until(lambda: _answers(port), seconds=60)
        yield port, process
    finally:
        process.terminate()
        process.wait(timeout=20)


def _answers(port: int) -> bool:
    try:
        return bool(client(port).ping())
    except redis.ConnectionError:
        return False


def client(port: int, token: str = "") -> redis.Redis:
    # RESP2, as propeller's go-redis v6.
    return redis.Redis(
        port=port,
        password=token or None,
        protocol=2,
        lib_name=None,
        lib_version=None,
        retry=Retry(NoBackoff(), 0),
    )


def allocate(server: Any, token: str, quota: int) -> bool:
    """Allocate as upstream does: look, count, add, each by itself."""
    if server.sismember(KEY, token):
        return True
    if server.scard(KEY) >= quota:
        return False
    server.sadd(KEY, token)
    return True
