"""The collector reflects its cluster, reports it, and writes Events about the outcome."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from uuid import uuid4

import structlog

from registry.agent_configs.sources.cluster.backoff import WatchTiming
from registry.agent_configs.sources.cluster.cache import CacheSnapshot, ConfigMapCache
from registry.agent_configs.sources.cluster.event_messages import Notice
from registry.agent_configs.sources.cluster.event_sender import EventSender
from registry.agent_configs.sources.cluster.health import WatcherHealth
from registry.agent_configs.sources.cluster.protocol import Cluster
from registry.agent_configs.sources.cluster.reflector import Reflector
from registry.agent_configs.sources.collector.client import ReportFailed
from registry.agent_configs.sources.collector.pictures import (
    BATCH_BYTES,
    Picture,
    Place,
    SentTexts,
    missing_places,
    next_texts,
    place_of,
    report_body,
    take_picture,
)

# Changes within this time are reported together.
_BATCH_SECONDS = 0.2
# Without changes: shows that the collector is alive.
_ROUND_SECONDS = 10.0
# Nothing is reported before every namespace is listed, up to this time.
_MAX_LISTING_SECONDS = 30.0
_TOO_LARGE = frozenset({400, 413})
OFFLINE, LISTING, STANDBY = "offline", "listing", "standby"
log = structlog.get_logger(__name__)


class Reports(Protocol):
    def report(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the response. Raises ReportFailed."""


class Collector:
    """Follow a cluster: `start` the reflectors, `step` to report once, `run` until `halt`."""

    def __init__(
        self,
        cluster: Cluster,
        namespaces: Sequence[str],
        reports: Reports,
        *,
        name: str,
        version: str = "",
        timing: WatchTiming | None = None,
        events: bool = True,
        round_seconds: float = _ROUND_SECONDS,
    ) -> None:
        self.reports = reports
        self.identity = {"id": str(uuid4()), "name": name, "version": version}
        self.timing = timing or WatchTiming()
        self.cache = ConfigMapCache(namespaces)
        self.stop = threading.Event()
        self.health = WatcherHealth()
        self.round_seconds = round_seconds
        self.failures = 0
        self._pause = round_seconds
        self._state = self._known_outcomes = ""
        self._sent = SentTexts()
        self._outcomes: dict[Place, list[Notice]] = {}
        self._started_at = time.monotonic()
        self._sender = EventSender(cluster, self.cache, instance=name, stop=self.stop) if events else None
        self.threads: list[threading.Thread] = [
            Reflector(cluster, namespace, self.cache, timing=self.timing, stop=self.stop)
            for namespace in namespaces
        ]
        if self._sender:
            self.threads.append(self._sender)

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def halt(self) -> None:
        self.stop.set()
        self.cache.changed.set()

    def run(self) -> None:
        while not self.stop.is_set():
            self.cache.changed.wait(self._pause)
            self.stop.wait(_BATCH_SECONDS)
            if self.stop.is_set():
                return
            state = self.step()
            self.health.record_step(is_ready=state not in (LISTING, OFFLINE))
            if state == OFFLINE:
                # Also if there are changes: they are reported together when the control plane is back.
                self.stop.wait(self._pause)

    def step(self) -> str:
        """Report once, with all texts that are missing, and return the state."""
        # Before reading: changes during the step trigger the next one.
        self.cache.changed.clear()
        state = self._step()
        if state != self._state:
            log.info("collector.state", state=state, collector=self.identity["name"])
        self._state = state
        return state

    def _step(self) -> str:
        snapshot = self.cache.snapshot()
        if not snapshot.is_complete and time.monotonic() - self._started_at < _MAX_LISTING_SECONDS:
            self._pause = _BATCH_SECONDS
            return LISTING
        try:
            answer = self._report(take_picture(snapshot))
        except ReportFailed as error:
            self._back_off(error)
            return OFFLINE
        self.failures = 0
        self._pause = min(self.round_seconds, answer.get("again_after") or self.round_seconds)
        self._tell_authors(answer, snapshot)
        return str(answer["state"])

    def _report(self, picture: Picture) -> dict[str, Any]:
        """Report until the server has all texts that it can use."""
        answer = self._send(picture, {})
        most_bytes = BATCH_BYTES
        while texts := next_texts(missing_places(answer), picture, self._is_due, most_bytes=most_bytes):
            try:
                answer = self._send(picture, texts)
            except ReportFailed as error:
                if error.status not in _TOO_LARGE:
                    raise
                log.warning("collector.texts_refused", texts=len(texts), reason=str(error))
                # One by one, so that a text that is refused stops no other.
                most_bytes = 0
                if len(texts) > 1:
                    continue
            now = time.monotonic()
            self._sent.note((picture.digests[place] for place in texts), now=now)
        return answer

    def _is_due(self, digest: str) -> bool:
        return self._sent.is_due(digest, now=time.monotonic())

    def _send(self, picture: Picture, texts: Mapping[Place, str]) -> dict[str, Any]:
        answer = self.reports.report(report_body(picture, texts, self.identity, self._known_outcomes))
        if answer.get("outcomes") is not None:
            self._known_outcomes = answer["outcomes_version"]
            self._outcomes = {
                (each["namespace"], each["name"]): [Notice(**notice) for notice in each["notices"]]
                for each in answer["outcomes"]
            }
        return answer

    def _tell_authors(self, answer: Mapping[str, Any], snapshot: CacheSnapshot) -> None:
        if self._sender is None or answer["state"] == STANDBY:
            return
        for config_map in snapshot.config_maps:
            notices = self._outcomes.get(place_of(config_map))
            if notices:
                # It sends only what is new.
                self._sender.send(config_map, notices)

    def _back_off(self, error: ReportFailed) -> None:
        self.failures += 1
        self.cache.count("reports_failed")
        chance = random.random()  # noqa: S311  (jitter)
        self._pause = self.timing.delay(self.failures, chance=chance, retry_after=error.retry_after)
        log.warning("collector.report_failed", reason=str(error), retry_in=round(self._pause, 1))
