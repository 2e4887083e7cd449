"""An agent that goes on beating: while nobody is heard, the silence of another agent proves nothing."""

from __future__ import annotations

import json
import threading
import urllib.request
from types import TracebackType
from typing import Any

from tests.support.api_client import AGENT


class BeatingAgent(threading.Thread):
    """Registers at a server, and beats until the block ends."""

    def __init__(self, url: str, token: str, name: str = "heard") -> None:
        super().__init__(daemon=True)
        self.url, self.token = url.rstrip("/"), token
        self.stopping = threading.Event()
        self.agent_id = self._call(
            "POST", "agents", {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}"}
        )["agent_id"]

    def run(self) -> None:
        beat = {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}
        while not self.stopping.wait(0.3):
            try:
                self._call("PUT", f"agents/{self.agent_id}/heartbeat", beat)
            except OSError:
                continue  # the server is being restarted

    def _call(self, method: str, path: str, body: Any) -> Any:
        request = urllib.request.Request(
            f"{self.url}/api/v1/{path}",
            method=method,
            data=json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def __enter__(self) -> BeatingAgent:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopping.set()
        self.join(60)
