"""Metrics of beat and of the task queue, which web servers read from Valkey when somebody scrapes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache as once
from typing import Any

import redis
from celery.signals import after_task_publish
from django.conf import settings
from django.core.cache import cache
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from redis.backoff import NoBackoff
from redis.retry import Retry

_KEY = "beat:last_tick"
# Celery's default queue, the only one.
_QUEUE = "celery"
_SECONDS = 0.5


def note_ticks() -> None:
    """Have this process, beat, note in Valkey when it last started a task."""
    after_task_publish.connect(_Ticks().note, weak=False)


class _Ticks:
    def __init__(self) -> None:
        self._noted_at = float("-inf")

    def note(self, **_: Any) -> None:
        """Write the time, at most once a second. Valkey has just stored a task."""
        if time.monotonic() - self._noted_at < 1:
            return
        self._noted_at = time.monotonic()
        with suppress(redis.RedisError):
            cache.set(_KEY, time.time(), timeout=None)


class QueueCollector(Collector):
    """Figures that Valkey has; none while it does not answer."""

    def collect(self) -> Iterator[Metric]:
        with suppress(redis.RedisError):
            yield from _families(_client().llen(_QUEUE), cache.get(_KEY))


def _families(waiting: Any, ticked_at: float | None) -> Iterator[Metric]:
    depth = GaugeMetricFamily("cp_queue_depth", "Tasks that wait for a worker.", labels=["queue"])
    depth.add_metric([_QUEUE], waiting)
    yield depth
    if ticked_at is not None:
        yield GaugeMetricFamily(
            "cp_beat_last_tick_timestamp_seconds", "When beat last started a task.", value=ticked_at
        )


@once
def _client() -> redis.Redis:
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=_SECONDS,
        socket_connect_timeout=_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
