"""Agents that beat over a failover, one by one and in batches, and keep what each was told last."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from benchmarks.fleet import Beating

_WHEN = "2026-11-21T09:30:00Z"


class Beats(threading.Thread):
    """Beats for its agents in turn, each once in `every` seconds. token: of all; without one, by their own.

    batch: how many heartbeats one request has.
    """

    def __init__(
        self, port: int, agents: Sequence[Beating], *, every: float, token: str = "", batch: int = 1
    ) -> None:
        super().__init__(daemon=True)
        self.answers: dict[str, str] = {}
        self.statuses: Counter[int] = Counter()
        self.refused: Counter[str] = Counter()
        self.accepted_at: list[float] = []
        # How often all agents have been tried.
        self.rounds = 0
        self.stopping = threading.Event()
        self._agents, self._every, self._token, self._batch = agents, every, token, batch
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)

    def run(self) -> None:
        while not self.stopping.is_set():
            began = time.monotonic()
            for start in range(0, len(self._agents), self._batch):
                self._send(self._agents[start : start + self._batch])
                if self.stopping.wait(self._every * self._batch / len(self._agents) / 2):
                    return
            self.rounds += 1
            self.stopping.wait(max(0.0, began + self._every - time.monotonic()))

    def _send(self, agents: Sequence[Beating]) -> None:
        try:
            status, document = self._ask(agents)
        except (OSError, http.client.HTTPException, ValueError):
            self._connection.close()
            self.statuses[0] += 1
            return
        self.statuses[status] += 1
        if status == 200:
            self.accepted_at.append(time.monotonic())
            self._remember(document)

    def _ask(self, agents: Sequence[Beating]) -> tuple[int, Any]:
        headers = {"Content-Type": "application/json"}
        headers["Authorization"] = f"Bearer {self._token or agents[0].token}"
        beat = {"timestamp": _WHEN, "consumer_lag": 0}
        if self._token:
            items = [{"agent_id": str(one.agent), **beat} for one in agents]
            self._connection.request(
                "POST", "/api/v1/agents:heartbeat", json.dumps({"items": items}), headers
            )
        else:
            path = f"/api/v1/agents/{agents[0].agent}/heartbeat"
            self._connection.request("PUT", path, json.dumps(beat), headers)
        answer = self._connection.getresponse()
        return answer.status, json.loads(answer.read() or b"{}")

    def _remember(self, document: Any) -> None:
        if not self._token:
            self.answers[document["agent_id"]] = document["last_heartbeat"]
            return
        for item in document["items"]:
            if item["status"] == 200:
                self.answers[item["agent_id"]] = item["heartbeat"]["last_heartbeat"]
            else:
                self.refused[item["code"]] += 1
