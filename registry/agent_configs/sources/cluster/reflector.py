"""List, watch, and list again: keeps the view of one namespace as the cluster has it.

Whatever goes wrong, what was seen last stays in the view. What a watch cannot tell any more, a list does.
"""

from __future__ import annotations

import random
import threading
import time

import structlog

from registry.agent_configs.sources.cluster.backoff import Pace
from registry.agent_configs.sources.cluster.cache import View
from registry.agent_configs.sources.cluster.objects import (
    Change,
    ConfigMap,
    Expired,
    Garbled,
    Kind,
    Page,
    read_changes,
    read_page,
)
from registry.agent_configs.sources.cluster.protocol import Cluster, ClusterError

# An API server that has just started, or was restored, may show nothing for a moment.
_EMPTY_LISTS = 3
# Connections are cut all the time, and watches the most.
_LIST_TOLD_AFTER, _WATCH_TOLD_AFTER = 2, 3
_SHORTEST_WATCH = 1.0
log = structlog.get_logger(__name__)


class Reflector(threading.Thread):
    def __init__(
        self, cluster: Cluster, namespace: str, view: View, *, pace: Pace, stop: threading.Event
    ) -> None:
        super().__init__(name=f"reflector-{namespace}", daemon=True)
        self.cluster = cluster
        self.namespace = namespace
        self.view = view
        self.pace = pace
        self.stop = stop
        self.failures = 0

    def run(self) -> None:
        while not self.stop.is_set():
            try:
                self._reflect()
            except (Expired, Garbled) as error:
                self.view.count("expired" if isinstance(error, Expired) else "garbled")
                log.info("config_maps.relist", namespace=self.namespace, reason=str(error))
                self._pause()
            except ClusterError as error:
                self._fail(error, told_after=_LIST_TOLD_AFTER)
            except Exception as error:
                log.error("config_maps.unforeseen", namespace=self.namespace, exc_info=error)
                self.view.fail(self.namespace, "something unforeseen happened; the log has the cause.")
                self._pause()

    def _reflect(self) -> None:
        """One list, and watches from there on until it is time for the next list."""
        config_maps, version = self._listed()
        self.view.replace(self.namespace, config_maps)
        until = time.monotonic() + self.pace.relist
        while not self.stop.is_set() and time.monotonic() < until:
            version = self._watched(version)

    def _listed(self) -> tuple[list[ConfigMap], str]:
        """An empty list counts once it came several times in a row."""
        for _ in range(_EMPTY_LISTS):
            config_maps, version = self._list()
            if config_maps or self.view.is_empty(self.namespace):
                break
            self.stop.wait(self.pace.empty)
        return config_maps, version

    def _list(self) -> tuple[list[ConfigMap], str]:
        config_maps: list[ConfigMap] = []
        more = ""
        while True:
            page = self._page(more)
            config_maps += page.config_maps
            more = page.more
            if not more:
                return config_maps, page.version

    def _page(self, more: str) -> Page:
        """A list that nobody understands is as good as none, and told like that."""
        try:
            return read_page(self.cluster.list_page(self.namespace, more=more))
        except Garbled as error:
            self.view.count("garbled")
            raise ClusterError(f"the list cannot be read: {error}") from error

    def _watched(self, version: str) -> str:
        """Follow one watch to its end. Returns the version from which the next one goes on."""
        began, is_open = time.monotonic(), False
        try:
            with self.cluster.watch(self.namespace, version) as chunks:
                is_open = True
                self.view.well(self.namespace)
                for change in read_changes(chunks):
                    self._take(change)
                    version, self.failures = change.version, 0
        except ClusterError as error:
            self.view.count("drops")
            self._fail(error, told_after=_WATCH_TOLD_AFTER, is_cut=is_open)
            return version
        if time.monotonic() - began < _SHORTEST_WATCH:
            self._pause()
        else:
            self.failures = 0
        return version

    def _take(self, change: Change) -> None:
        if change.config_map is None:
            return
        if change.kind is Kind.DELETED:
            self.view.drop(self.namespace, change.config_map)
        else:
            self.view.put(self.namespace, change.config_map)

    def _fail(self, error: ClusterError, *, told_after: int, is_cut: bool = False) -> None:
        """A refusal is told at once; a lost connection, once there were several."""
        if not is_cut and (error.status or self.failures + 1 >= told_after):
            self.view.fail(self.namespace, str(error))
        self._pause(retry_after=error.retry_after)

    def _pause(self, *, retry_after: float = 0.0) -> None:
        self.failures += 1
        self.stop.wait(self.pace.delay(self.failures, chance=random.random(), retry_after=retry_after))  # noqa: S311  (jitter)
