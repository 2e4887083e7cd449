"""The watcher reflects the cluster and publishes its documents while no other watcher does."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import structlog
from django.db import DatabaseError, InterfaceError, connection

from controlplane.cluster.leadership import Role, resign
from controlplane.ids import uuid7
from registry.agent_configs.sources.cluster.backoff import WatchTiming
from registry.agent_configs.sources.cluster.cache import ConfigMapCache
from registry.agent_configs.sources.cluster.debounce import RemovalDebounce
from registry.agent_configs.sources.cluster.event_sender import EventSender
from registry.agent_configs.sources.cluster.health import WatcherHealth
from registry.agent_configs.sources.cluster.outcome_reporter import OutcomeReporter
from registry.agent_configs.sources.cluster.protocol import Cluster
from registry.agent_configs.sources.cluster.reflector import Reflector
from registry.agent_configs.sources.cluster.synchronise import STANDBY, publish_snapshot

# Changes within this time are published together.
_BATCH_SECONDS = 0.2
# Without changes: shows that the watcher is alive, and publishes settled removals.
_MAX_ROUND_SECONDS = 3.0
# Nothing is published before every namespace is listed, up to this time.
_MAX_LISTING_SECONDS = 30.0
OFFLINE, LISTING = "offline", "listing"
log = structlog.get_logger(__name__)


class Watcher:
    """Follow a cluster: `start` the reflectors, `step` to publish once, `run` until `halt`."""

    def __init__(
        self,
        cluster: Cluster,
        namespaces: Sequence[str],
        *,
        name: str,
        quiet: float = 5.0,
        timing: WatchTiming | None = None,
        events: bool = True,
    ) -> None:
        self.name = name
        self.id = uuid7()
        self.quiet = quiet
        self.cache = ConfigMapCache(namespaces)
        self.stop = threading.Event()
        self.health = WatcherHealth()
        self.debounce = RemovalDebounce()
        self._state = ""
        self._started_at = time.monotonic()
        sender = EventSender(cluster, self.cache, instance=name, stop=self.stop) if events else None
        self._reporter = OutcomeReporter(sender) if sender else None
        timing = timing or WatchTiming()
        self.threads: list[threading.Thread] = [
            Reflector(cluster, namespace, self.cache, timing=timing, stop=self.stop)
            for namespace in namespaces
        ]
        if sender:
            self.threads.append(sender)

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def halt(self) -> None:
        self.stop.set()
        self.cache.changed.set()

    def drain(self, *, seconds: float) -> None:
        """Wait until Events about published documents are sent."""
        if self._reporter:
            self._reporter.sender.drain(seconds=seconds)

    def run(self) -> None:
        while not self.stop.is_set():
            self.cache.changed.wait(_MAX_ROUND_SECONDS)
            self.stop.wait(_BATCH_SECONDS)
            state = self.step()
            self.health.record_step(is_ready=state not in (LISTING, OFFLINE))
        self.resign()

    def resign(self) -> None:
        """Let another watcher publish at once, if this one is active."""
        try:
            resign(Role.AGENT_CONFIG_CLUSTER, holder=self.id)
        except (DatabaseError, InterfaceError) as error:
            log.warning("config_maps.database", reason=str(error).strip()[:300])

    def step(self) -> str:
        """Publish the cache once. After a database error the next step retries."""
        # Before reading: changes during the step trigger the next one.
        self.cache.changed.clear()
        try:
            state = self._step()
        except (DatabaseError, InterfaceError) as error:
            log.warning("config_maps.database", reason=str(error).strip()[:300])
            connection.close_if_unusable_or_obsolete()
            state = OFFLINE
        if state != self._state:
            log.info("config_maps.state", state=state, watcher=self.name)
        self._state = state
        return state

    def _step(self) -> str:
        snapshot = self.cache.snapshot()
        now = time.monotonic()
        if not snapshot.is_complete and now - self._started_at < _MAX_LISTING_SECONDS:
            return LISTING
        state, self.debounce = publish_snapshot(
            snapshot, self.debounce, watcher=self.name, holder=self.id, now=now, quiet=self.quiet
        )
        if state != STANDBY and self._reporter:
            self._reporter.report(snapshot.config_maps)
        return state
