"""Send Events on ConfigMaps about their outcome: once, rate-limited and without blocking.

A separate thread sends them. Events that cannot be sent are dropped: the API and the console show the same.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from queue import Empty, Full, Queue

import structlog

from registry.agent_configs.sources.cluster.cache import ConfigMapCache
from registry.agent_configs.sources.cluster.event_messages import (
    Notice,
    build_event,
    build_series,
    event_name,
)
from registry.agent_configs.sources.cluster.objects import ConfigMap, MalformedResponse, VersionExpired
from registry.agent_configs.sources.cluster.protocol import Cluster, ClusterError

_CONFLICT = 409
_TOO_MANY = 429
_TRIES = 3
_MAX_RETRY_AFTER = 30.0
_MAX_QUEUED = 10_000
_MAX_REMEMBERED = 50_000
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _QueuedEvent:
    notice: Notice
    config_map: ConfigMap


class EventSender(threading.Thread):
    """The thread that sends Events. per_second: maximum rate."""

    def __init__(
        self,
        cluster: Cluster,
        cache: ConfigMapCache,
        *,
        instance: str,
        stop: threading.Event,
        per_second: float = 5.0,
    ) -> None:
        super().__init__(name="teller", daemon=True)
        self.cluster = cluster
        self.cache = cache
        self.instance = instance
        self.stop = stop
        self.pause = 1 / per_second
        self._queue: Queue[_QueuedEvent] = Queue(_MAX_QUEUED)
        self._sent_names: OrderedDict[tuple[str, str], frozenset[str]] = OrderedDict()
        self._counts: Counter[str] = Counter()

    def send(self, config_map: ConfigMap, notices: Iterable[Notice]) -> None:
        """Queue notices that are new since the last call, without blocking."""
        by_name = {event_name(notice, config_map): notice for notice in notices}
        key = (config_map.namespace, config_map.name)
        before = self._sent_names.pop(key, frozenset())
        self._sent_names[key] = frozenset(by_name)
        if len(self._sent_names) > _MAX_REMEMBERED:
            self._sent_names.popitem(last=False)
        for name, notice in by_name.items():
            if name not in before:
                self._put(_QueuedEvent(notice, config_map))

    def drain(self, *, seconds: float) -> None:
        """Wait until all queued Events are sent or failed."""
        until = time.monotonic() + seconds
        while self._queue.unfinished_tasks and time.monotonic() < until:
            self.stop.wait(self.pause)

    def run(self) -> None:
        while not self.stop.is_set():
            try:
                news = self._queue.get(timeout=1.0)
            except Empty:
                continue
            self._send(news)
            self._queue.task_done()
            self.stop.wait(self.pause)

    def _put(self, news: _QueuedEvent) -> None:
        try:
            self._queue.put_nowait(news)
        except Full:
            self.cache.count("events_dropped")

    def _send(self, news: _QueuedEvent) -> None:
        try:
            self._send_with_retries(news)
            self.cache.count("events")
        except (ClusterError, VersionExpired, MalformedResponse) as error:
            self.cache.count("events_failed")
            log.warning("config_maps.event_failed", document=str(news.config_map.document), reason=str(error))
        except Exception as error:
            self.cache.count("events_failed")
            log.error("config_maps.event_unforeseen", exc_info=error)

    def _send_with_retries(self, news: _QueuedEvent) -> None:
        """Send with retries, which are safe because an Event's name identifies it."""
        for _ in range(_TRIES - 1):
            try:
                return self._write(news)
            except ClusterError as error:
                if error.status and error.status < _TOO_MANY:
                    raise
                self.stop.wait(max(self.pause, min(error.retry_after, _MAX_RETRY_AFTER)))
        return self._write(news)

    def _write(self, news: _QueuedEvent) -> None:
        """Create the Event, or increase the count of one that this or an earlier watcher created."""
        namespace, now = news.config_map.namespace, datetime.now(UTC)
        name = event_name(news.notice, news.config_map)
        self._counts[name] += 1
        try:
            event = build_event(news.notice, news.config_map, instance=self.instance, now=now)
            self.cluster.create_event(namespace, event)
        except ClusterError as error:
            if error.status != _CONFLICT:
                raise
            self.cluster.patch_event(namespace, name, build_series(self._counts[name], now=now))
