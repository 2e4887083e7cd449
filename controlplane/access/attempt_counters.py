"""Counters of attempts and requests, shared by all processes through Valkey.

Valkey may be unreachable or lose everything at any time. Each process then counts by itself: limits are less
exact, but never off, and no request waits for Valkey.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import lru_cache

import structlog
from django.conf import settings
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from controlplane.cluster.valkey import client_of

_PREFIX = "cp:count:"
_TIMEOUT_SECONDS = 0.25
# Valkey is not called for so long after a failure, so that requests do not each wait for the timeout.
_PAUSE_SECONDS = 2.0
# Guessed user names must not exhaust the memory.
_MOST_LOCAL = 10_000
log = structlog.get_logger(__name__)


def add(keys: Sequence[str], seconds: int, amount: int = 1) -> list[int]:
    """Add to each counter and return the new values. A counter expires `seconds` after its first use."""
    if _valkey.is_paused():
        return _local.add(keys, seconds, amount)
    try:
        return _add_in_valkey(keys, seconds, amount)
    except (RedisError, OSError) as error:
        _valkey.pause(error)
        return _local.add(keys, seconds, amount)


def forget(keys: Sequence[str]) -> None:
    """Reset counters to 0. A counter in an unreachable Valkey expires by itself."""
    _local.forget(keys)
    if _valkey.is_paused():
        return
    try:
        _client(settings.REDIS_URL).delete(*(_PREFIX + key for key in keys))
    except (RedisError, OSError) as error:
        _valkey.pause(error)


def start_over() -> None:
    """Reset this process's counters, and call Valkey again at once."""
    _local.clear()
    _valkey.end()


class LocalCounters:
    """Counters of one process. clock: monotonic seconds. most: maximum number of counters."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, most: int = _MOST_LOCAL) -> None:
        self._clock = clock
        self._most = most
        self._counts: dict[str, tuple[int, float]] = {}
        self._lock = threading.Lock()

    def add(self, keys: Sequence[str], seconds: int, amount: int = 1) -> list[int]:
        with self._lock:
            return [self._add(key, seconds, amount) for key in keys]

    def forget(self, keys: Sequence[str]) -> None:
        with self._lock:
            for key in keys:
                self._counts.pop(key, None)

    def clear(self) -> None:
        with self._lock:
            self._counts.clear()

    def __len__(self) -> int:
        return len(self._counts)

    def _add(self, key: str, seconds: int, amount: int) -> int:
        now = self._clock()
        count, ends_at = self._counts.get(key, (0, now + seconds))
        if ends_at <= now:
            count, ends_at = 0, now + seconds
        elif key not in self._counts:
            self._evict(now)
        self._counts[key] = (count + amount, ends_at)
        return count + amount

    def _evict(self, now: float) -> None:
        if len(self._counts) < self._most:
            return
        current = {key: entry for key, entry in self._counts.items() if entry[1] > now}
        oldest = list(current)[: max(0, len(current) - self._most // 2)]
        self._counts = {key: entry for key, entry in current.items() if key not in set(oldest)}


class _Pause:
    """A pause of calls to Valkey after a failure."""

    def __init__(self) -> None:
        self._until = 0.0

    def is_paused(self) -> bool:
        return time.monotonic() < self._until

    def pause(self, error: Exception) -> None:
        self._until = time.monotonic() + _PAUSE_SECONDS
        log.warning("counters.valkey_unreachable", error=str(error).strip() or type(error).__name__)

    def end(self) -> None:
        self._until = 0.0


@lru_cache(maxsize=4)
def _client(url: str) -> Redis:
    return client_of(
        url,
        socket_timeout=_TIMEOUT_SECONDS,
        socket_connect_timeout=_TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )


def _add_in_valkey(keys: Sequence[str], seconds: int, amount: int) -> list[int]:
    pipeline = _client(settings.REDIS_URL).pipeline(transaction=False)
    for key in keys:
        pipeline.incrby(_PREFIX + key, amount)
        pipeline.expire(_PREFIX + key, seconds, nx=True)
    return [int(count) for count in pipeline.execute()[::2]]


_local = LocalCounters()
_valkey = _Pause()
