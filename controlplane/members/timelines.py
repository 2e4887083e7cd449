"""Timelines of Postgres that processes tell each other, by Valkey.

A process that starts after a failover has seen no timeline, and would believe a former primary that answers
first. It is a hint: without Valkey each process knows what it has seen itself. Only processes that had it
from a server renew it, so it ends with the last of them, and a cluster that was restored to a lower timeline
is not refused for ever, also if processes are restarted one by one.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from django.conf import settings
from redis.exceptions import RedisError

from controlplane.cluster.valkey import client_of
from controlplane.database.primary import Primary, primary
from controlplane.database.timelines import worth_telling

_log = logging.getLogger(__name__)
KEY = "controlplane:timelines"
# Three times as long as processes take to renew it.
KEPT_SECONDS = 30
# A start waits no longer for it.
_TIMEOUT_SECONDS = 0.5


def exchange(url: str = "", known: Primary = primary) -> None:
    """Learn the timelines of others, and tell them ours. Does nothing while Valkey is away.

    url: of Valkey, by default that of the settings.
    """
    try:
        client = _client(url or settings.REDIS_URL)
        told = _valid(client.hgetall(KEY))
        known.learn(told)
        _tell(client, worth_telling(known.witnessed(), told))
    except (RedisError, OSError) as error:
        _log.debug("timelines_not_exchanged", extra={"error": type(error).__name__})


def _tell(client: Any, news: Mapping[str, int]) -> None:
    if not news:
        return
    with client.pipeline() as pipeline:
        pipeline.hset(KEY, mapping=dict(news))
        pipeline.expire(KEY, KEPT_SECONDS)
        pipeline.execute()


def _valid(told: Mapping[bytes, bytes]) -> dict[str, int]:
    return {name.decode(): int(seen) for name, seen in told.items() if name.isdigit() and seen.isdigit()}


@lru_cache(maxsize=1)
def _client(url: str) -> Any:
    return client_of(url, socket_timeout=_TIMEOUT_SECONDS, socket_connect_timeout=_TIMEOUT_SECONDS)
