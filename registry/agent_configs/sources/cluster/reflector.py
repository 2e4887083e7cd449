"""A reflector lists and watches one namespace to keep its cache up to date.

After an error the last known state stays in the cache, and a list recovers changes that the watch lost.
"""

from __future__ import annotations

import random
import threading
import time

import structlog

from registry.agent_configs.sources.cluster.backoff import WatchTiming
from registry.agent_configs.sources.cluster.cache import ConfigMapCache
from registry.agent_configs.sources.cluster.objects import (
    Change,
    ConfigMap,
    Kind,
    MalformedResponse,
    Page,
    VersionExpired,
    read_changes,
    read_page,
)
from registry.agent_configs.sources.cluster.protocol import Cluster, ClusterError

# An API server that has just started or was restored may list nothing for a moment.
_EMPTY_LISTS = 3
# Failures before an error is recorded: connections, and mostly watches, are cut often.
_LIST_FAILURES, _WATCH_FAILURES = 2, 3
_SHORTEST_WATCH = 1.0
log = structlog.get_logger(__name__)


class Reflector(threading.Thread):
    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        cache: ConfigMapCache,
        *,
        timing: WatchTiming,
        stop: threading.Event,
    ) -> None:
        super().__init__(name=f"reflector-{namespace}", daemon=True)
        self.cluster = cluster
        self.namespace = namespace
        self.cache = cache
        self.timing = timing
        self.stop = stop
        self.failures = 0

    def run(self) -> None:
        while not self.stop.is_set():
            try:
                self._reflect()
            except (VersionExpired, MalformedResponse) as error:
                self.cache.count("expired" if isinstance(error, VersionExpired) else "garbled")
                log.info("config_maps.relist", namespace=self.namespace, reason=str(error))
                self._pause()
            except ClusterError as error:
                self._record_error(error, told_after=_LIST_FAILURES)
            except Exception as error:
                log.error("config_maps.unforeseen", namespace=self.namespace, exc_info=error)
                self.cache.record_error(
                    self.namespace, "an unexpected error occurred; see the watcher's log for the cause."
                )
                self._pause()

    def _reflect(self) -> None:
        """List once, then watch until the next list is due."""
        config_maps, version = self._list_until_settled()
        self.cache.replace(self.namespace, config_maps)
        until = time.monotonic() + self.timing.relist_interval
        while not self.stop.is_set() and time.monotonic() < until:
            version = self._watch(version)

    def _list_until_settled(self) -> tuple[list[ConfigMap], str]:
        """List, and accept an empty list only after several in a row."""
        for _ in range(_EMPTY_LISTS):
            config_maps, version = self._list_all()
            if config_maps or self.cache.is_empty(self.namespace):
                break
            self.stop.wait(self.timing.empty_list_delay)
        return config_maps, version

    def _list_all(self) -> tuple[list[ConfigMap], str]:
        config_maps: list[ConfigMap] = []
        more = ""
        while True:
            page = self._page(more)
            config_maps += page.config_maps
            more = page.more
            if not more:
                return config_maps, page.version

    def _page(self, more: str) -> Page:
        """Read one page; a malformed one counts as a failed request."""
        try:
            return read_page(self.cluster.list_page(self.namespace, more=more))
        except MalformedResponse as error:
            self.cache.count("garbled")
            raise ClusterError(f"the list cannot be read: {error}") from error

    def _watch(self, version: str) -> str:
        """Follow one watch to its end and return the version at which the next one starts."""
        began, is_open = time.monotonic(), False
        try:
            with self.cluster.watch(self.namespace, version) as chunks:
                is_open = True
                self.cache.clear_error(self.namespace)
                for change in read_changes(chunks):
                    self._apply(change)
                    version, self.failures = change.version, 0
        except ClusterError as error:
            self.cache.count("drops")
            self._record_error(error, told_after=_WATCH_FAILURES, is_cut=is_open)
            return version
        if time.monotonic() - began < _SHORTEST_WATCH:
            self._pause()
        else:
            self.failures = 0
        return version

    def _apply(self, change: Change) -> None:
        if change.config_map is None:
            return
        if change.kind is Kind.DELETED:
            self.cache.drop(self.namespace, change.config_map)
        else:
            self.cache.put(self.namespace, change.config_map)

    def _record_error(self, error: ClusterError, *, told_after: int, is_cut: bool = False) -> None:
        """Record an error response at once, and lost connections only after several."""
        if not is_cut and (error.status or self.failures + 1 >= told_after):
            self.cache.record_error(self.namespace, str(error))
        self._pause(retry_after=error.retry_after)

    def _pause(self, *, retry_after: float = 0.0) -> None:
        self.failures += 1
        self.stop.wait(self.timing.delay(self.failures, chance=random.random(), retry_after=retry_after))  # noqa: S311  (jitter)
