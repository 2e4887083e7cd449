"""Requests and answers by HTTPS: a long poll, and one call for each event."""

from __future__ import annotations

import http.client
import logging
import random
import threading
from collections.abc import Callable

from control_plane import ControlPlane, Refused
from work import Work

WAIT_SECONDS = 30
_LONGEST_PAUSE = 15.0
log = logging.getLogger("agent")


class HttpsChannel:
    """agent_id: empty while the agent is not registered."""

    def __init__(self, plane: ControlPlane, work: Work, agent_id: Callable[[], str]) -> None:
        self.plane, self.work, self.agent_id = plane, work, agent_id
        self.stopping, self.closed = threading.Event(), threading.Event()
        self._fetcher = threading.Thread(target=self._fetch, daemon=True, name="requests")
        self._sender = threading.Thread(target=self._send, daemon=True, name="answers")

    def start(self) -> None:
        self._fetcher.start()
        self._sender.start()

    def stop_fetching(self) -> None:
        self.stopping.set()

    def close(self, seconds: float) -> None:
        """Send the answers that are left, for at most this long."""
        self.closed.set()
        self.work.unsent.set()
        self._sender.join(seconds)

    def _fetch(self) -> None:
        tries, is_first = 0, True
        while not self.stopping.is_set():
            if not self.agent_id():
                self.stopping.wait(0.2)
                continue
            try:
                # What an earlier process fetched and did not keep is handed out again at once.
                query = "restarted=true" if is_first else f"wait={WAIT_SECONDS}"
                path = f"agents/{self.agent_id()}/requests?{query}"
                fetched = self.plane.call("GET", path, timeout=WAIT_SECONDS + 10)
                tries, is_first = 0, False
            except (Refused, OSError, http.client.HTTPException, ValueError) as error:
                tries = self._pause("cannot fetch requests", error, tries)
                continue
            if fetched["items"]:
                self.work.accept(fetched["items"])

    def _send(self) -> None:
        tries = 0
        while not (self.closed.is_set() and not self.work.memory.outgoing):
            if not self.work.memory.outgoing or not self.agent_id():
                self.work.unsent.wait(0.5)
                self.work.unsent.clear()
                continue
            event = self.work.memory.outgoing[0]
            trace = {"traceparent": event["traceparent"]} if event.get("traceparent") else {}
            try:
                self.plane.call("POST", f"agents/{self.agent_id()}/answers", event, **trace)
            except Refused as refused:
                if refused.code != "unknown_resource" and refused.status != 400:
                    tries = self._pause("cannot send an answer", refused, tries)
                    continue
                log.warning("the control plane does not want %s: %s", event["type"], refused)
            except (OSError, http.client.HTTPException, ValueError) as error:
                tries = self._pause("cannot send an answer", error, tries)
                continue
            tries = 0
            with self.work.memory.changes() as memory:
                memory.outgoing.pop(0)

    def _pause(self, what: str, error: Exception, tries: int) -> int:
        least = error.retry_after if isinstance(error, Refused) else 0.0
        wait = least + random.uniform(0, min(_LONGEST_PAUSE, 2.0**tries))  # noqa: S311  (jitter)
        log.warning("%s (%s); again in %.0f s", what, error, wait)
        (self.closed if self.stopping.is_set() else self.stopping).wait(wait)
        return tries + 1
