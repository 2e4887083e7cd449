"""Sentinel: cache, counters and queue go on at the new primary when the machine of the old one dies."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from celery import Celery
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from controlplane.cluster.valkey import ValkeyCache, client_of
from controlplane.cluster.valkey_address import parse_sentinels
from tests.support.sentinels import ValkeyWithSentinels
from tests.support.waiting import until

TIMEOUTS = {"socket_timeout": 0.5, "socket_connect_timeout": 0.5}


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValkeyWithSentinels]:
    servers = ValkeyWithSentinels(tmp_path_factory.mktemp("sentinels"))
    yield servers
    servers.stop()


def queue(url: str) -> Celery:
    sentinels = parse_sentinels(url)
    assert sentinels is not None
    app = Celery("failover", broker=sentinels.broker_url, set_as_current=False)
    app.conf.broker_transport_options = {**sentinels.broker_options, **TIMEOUTS}
    return app


def succeeds(action) -> bool:
    try:
        action()
    except (RedisError, OperationalError, OSError):
        return False
    return True


def test_cache_counters_and_queue_follow_the_primary(watched: ValkeyWithSentinels, tmp_path: Path):
    cache = ValkeyCache(watched.url, {"OPTIONS": TIMEOUTS})
    counters, app = client_of(watched.url, **TIMEOUTS), queue(watched.url)
    cache.set("here", 1)
    assert (cache.get("here"), counters.incr("attempts")) == (1, 1)
    app.send_task("pools.sweep", expires=60)

    killed_at = time.monotonic()
    watched.kill_primary()
    until(lambda: succeeds(lambda: cache.set("here", 2)), seconds=30)
    gap = time.monotonic() - killed_at
    assert cache.get("here") == 2
    until(lambda: succeeds(lambda: counters.incr("attempts")), seconds=30)
    until(lambda: succeeds(lambda: app.send_task("pools.sweep", expires=60, retry=False)), seconds=30)
    length = client_of(watched.url, **TIMEOUTS).llen("celery")
    # Replication is asynchronous: no task is the only trace of a duty.
    print(f"\ngap {gap:.1f} s, tasks acknowledged 2, lost {2 - length}")
    assert gap < 20
