"""Somebody who reads lists, one after the other, and counts how they are answered."""

from __future__ import annotations

import http.client
import threading
from collections import Counter

LISTS = (
    "agents?limit=50",
    "agents?environment=e1&limit=20",
    "overrides?limit=50",
    "resources?limit=50",
    "events?limit=50",
    "audit?limit=50",
    "teams?limit=50",
)


class ListReader(threading.Thread):
    """statuses: of all answers; 0 if there was none. failures: the first few of them."""

    def __init__(self, port: int, token: str) -> None:
        super().__init__(daemon=True)
        self.statuses: Counter[int] = Counter()
        self.failures: list[tuple[str, int, bytes]] = []
        self.stopping = threading.Event()
        self._headers = {"Authorization": f"Bearer {token}"}
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)

    def run(self) -> None:
        while True:
            for path in LISTS:
                if self.stopping.wait(0.05):
                    return
                self._read(path)

    def _read(self, path: str) -> None:
        status, body = 0, b""
        try:
            self._connection.request("GET", f"/api/v1/{path}", headers=self._headers)
            answer = self._connection.getresponse()
            status, body = answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
        self.statuses[status] += 1
        if status != 200 and len(self.failures) < 10:
            self.failures.append((path, status, body[:300]))
