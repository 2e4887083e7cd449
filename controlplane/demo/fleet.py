"""Heartbeats of the demo's agents over HTTP: four agents are healthy, one is late, one is silent."""

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
# The agent has its own token, was deleted or was retired: the other agents continue.
_REJECTED_STATUSES = (403, 404, 410)


class Fleet:
    """The demo's agents. `call(method, path, body)` calls the API and returns its JSON, or raises OSError."""

    def __init__(self, call: Callable[[str, str, Any], Any]) -> None:
        self._call = call
        self._due: dict[str, float] = {}
        self._late: set[str] = set()

    def step(self, now: float) -> None:
        """Send the heartbeats that are due at `now` (seconds, monotonic)."""
        if not self._due:
            self._list_agents(now)
        for agent_id, due in list(self._due.items()):
            if due <= now:
                self._send_heartbeat(agent_id, now)

    def _list_agents(self, now: float) -> None:
        agents = self._call("GET", "/api/v1/agents?limit=200", None)["items"]
        self._due = {agent["agent_id"]: now for agent in agents if agent["name"] != SILENT}
        self._late = {agent["agent_id"] for agent in agents if agent["name"] == LATE}

    def _send_heartbeat(self, agent_id: str, now: float) -> None:
        body = {"timestamp": datetime.now(UTC).isoformat(), "consumer_lag": 0}
        try:
            reply = self._call("PUT", f"/api/v1/agents/{agent_id}/heartbeat", body)
        except urllib.error.HTTPError as error:
            if error.code not in _REJECTED_STATUSES:
                raise
            del self._due[agent_id]
            return
        late = agent_id in self._late
        wait = reply["heartbeat_interval"] * _LATE_INTERVALS if late else reply["next_heartbeat_in_seconds"]
        self._due[agent_id] = now + wait


def run(url: str, token: str) -> None:
    """Send heartbeats until killed. The control plane may be unreachable for a while."""
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
    request = urllib.request.Request(  # noqa: S310  (the control plane's URL)
        url,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as response:  # noqa: S310  (the control plane's URL)
        return json.load(response)
