"""Keeps the demo's agents alive over HTTP, as real agents would: four beat, one is late, one is silent."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

SILENT = "edge-silent"
LATE = "staging-late"
# Between "late" (1.5 intervals) and the end of the lease (3 intervals).
_LATE_INTERVALS = 2.2
# It joined with a token of its own, was removed, or was sent away: the others go on.
_NOT_OURS = (403, 404, 410)


class Fleet:
    """`call(method, path, body)` asks the API and returns its JSON; it may raise OSError."""

    def __init__(self, call: Callable[[str, str, Any], Any]) -> None:
        self._call = call
        self._due: dict[str, float] = {}
        self._late: set[str] = set()

    def step(self, now: float) -> None:
        """Send the heartbeats that are due at `now` (seconds, monotonic)."""
        if not self._due:
            self._meet(now)
        for agent_id, due in list(self._due.items()):
            if due <= now:
                self._beat(agent_id, now)

    def _meet(self, now: float) -> None:
        agents = self._call("GET", "/api/v1/agents?limit=200", None)["items"]
        self._due = {one["agent_id"]: now for one in agents if one["name"] != SILENT}
        self._late = {one["agent_id"] for one in agents if one["name"] == LATE}

    def _beat(self, agent_id: str, now: float) -> None:
        body = {"timestamp": datetime.now(UTC).isoformat(), "consumer_lag": 0}
        try:
            told = self._call("PUT", f"/api/v1/agents/{agent_id}/heartbeat", body)
        except urllib.error.HTTPError as refused:
            if refused.code not in _NOT_OURS:
                raise
            del self._due[agent_id]
            return
        late = agent_id in self._late
        wait = told["heartbeat_interval"] * _LATE_INTERVALS if late else told["next_heartbeat_in_seconds"]
        self._due[agent_id] = now + wait


def run(url: str, token: str) -> None:
    """Beat until killed. The control plane may be away for a while: that is what leases are for."""
    fleet = Fleet(lambda method, path, body: _http(url + path, method, token, body))
    while True:
        try:
            fleet.step(time.monotonic())
        except urllib.error.HTTPError as error:
            if error.code < 500:
                raise
        except OSError:
            pass
        time.sleep(1)


def _http(url: str, method: str, token: str, body: Any) -> Any:
    request = urllib.request.Request(  # noqa: S310  (our own address)
        url,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310  (our own address)
        return json.load(answer)
