"""The watcher: reflects the cluster, and publishes what it sees while no other watcher does."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import structlog
from django.db import DatabaseError, InterfaceError, connection

from registry.agent_configs.sources.cluster.backoff import Pace
from registry.agent_configs.sources.cluster.cache import View
from registry.agent_configs.sources.cluster.debounce import Settling
from registry.agent_configs.sources.cluster.event_sender import Newsroom, Teller
from registry.agent_configs.sources.cluster.health import Pulse
from registry.agent_configs.sources.cluster.protocol import Cluster
from registry.agent_configs.sources.cluster.reflector import Reflector
from registry.agent_configs.sources.cluster.synchronise import STANDBY, store

# Changes that come together are published together.
_TOGETHER = 0.2
# Without a change: so that everybody sees that somebody watches, and settled removals go.
_ROUND = 3.0
# Before the first listing of every namespace is through, nothing is published, but not for ever.
_PATIENCE = 30.0
OFFLINE, LISTING = "offline", "listing"
log = structlog.get_logger(__name__)


class Watcher:
    """`start` begins to reflect; `step` publishes what was seen; `run` does so until `halt`."""

    def __init__(
        self,
        cluster: Cluster,
        namespaces: Sequence[str],
        *,
        name: str,
        quiet: float = 5.0,
        pace: Pace | None = None,
        events: bool = True,
    ) -> None:
        self.name = name
        self.quiet = quiet
        self.view = View(namespaces)
        self.stop = threading.Event()
        self.pulse = Pulse()
        self.settling = Settling()
        self._state = ""
        self._began = time.monotonic()
        teller = Teller(cluster, self.view, instance=name, stop=self.stop) if events else None
        self._newsroom = Newsroom(teller) if teller else None
        pace = pace or Pace()
        self.threads: list[threading.Thread] = [
            Reflector(cluster, namespace, self.view, pace=pace, stop=self.stop) for namespace in namespaces
        ]
        if teller:
            self.threads.append(teller)

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def halt(self) -> None:
        self.stop.set()
        self.view.changed.set()

    def drain(self, *, seconds: float) -> None:
        """Let authors be told of what was published."""
        if self._newsroom:
            self._newsroom.teller.drain(seconds=seconds)

    def run(self) -> None:
        while not self.stop.is_set():
            self.view.changed.wait(_ROUND)
            self.stop.wait(_TOGETHER)
            state = self.step()
            self.pulse.beat(is_ready=state not in (LISTING, OFFLINE))

    def step(self) -> str:
        """One look at what was seen. Whatever goes wrong with the database, the next look tries again."""
        # Before the look: what changes meanwhile is looked at next time.
        self.view.changed.clear()
        try:
            state = self._step()
        except (DatabaseError, InterfaceError) as error:
            log.warning("config_maps.database", reason=str(error).strip()[:300])
            # A broken connection has lost the lock, too.
            connection.close_if_unusable_or_obsolete()
            state = OFFLINE
        if state != self._state:
            log.info("config_maps.state", state=state, watcher=self.name)
        self._state = state
        return state

    def _step(self) -> str:
        snapshot = self.view.seen()
        now = time.monotonic()
        if not snapshot.is_complete and now - self._began < _PATIENCE:
            return LISTING
        state, self.settling = store(snapshot, self.settling, watcher=self.name, now=now, quiet=self.quiet)
        if state != STANDBY and self._newsroom:
            self._newsroom.look(snapshot.config_maps)
        return state
