"""A service provider for tests: it is slow, and fails, as it is ordered to.

By the spec of a resource: {"delay_seconds": 2, "fail_with": 503, "fail_times": 2, "becomes": "FAILED"}.
All requests, by PUT /admin: {"health": "unhealthy", "delay_seconds": 1, "fail_with": 500, "fail_times": 3}.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Any

from provider_http import Reply, make_server, refusal


class SlowProvider:
    """Its resources live in memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._resources: dict[str, dict[str, Any]] = {}
        self._failures: dict[str, int] = {}
        self._order: dict[str, Any] = {}

    def create(self, resource_id: str, spec: dict[str, Any]) -> Reply:
        failure = self._obey("", self._order) or self._obey(resource_id, spec)
        if failure:
            return failure
        with self._lock:
            is_new = resource_id not in self._resources
            resource = {"id": resource_id, "status": spec.get("becomes", "RUNNING"), "output": {"spec": spec}}
            self._resources.setdefault(resource_id, resource)
            return Reply(201 if is_new else 200, self._resources[resource_id])

    def read(self, resource_id: str) -> Reply:
        with self._lock:
            resource = self._resources.get(resource_id)
        return Reply(200, resource) if resource else refusal(404, "There is no such resource.")

    def delete(self, resource_id: str) -> Reply:
        failure = self._obey("", self._order)
        if failure:
            return failure
        with self._lock:
            self._resources.pop(resource_id, None)
        return Reply(204, {})

    def health(self) -> Reply:
        return Reply(200, {"status": self._order.get("health", "healthy")})

    def administer(self, order: dict[str, Any]) -> Reply:
        with self._lock:
            self._order, self._failures[""] = order, 0
        return Reply(200, order)

    def _obey(self, who: str, order: dict[str, Any]) -> Reply | None:
        """Wait, and return a failure as often as the request orders."""
        time.sleep(float(order.get("delay_seconds", 0)))
        with self._lock:
            count = self._failures.get(who, 0)
            if "fail_with" not in order or count >= int(order.get("fail_times", 1)):
                return None
            self._failures[who] = count + 1
        return refusal(int(order["fail_with"]), f"Failure {count + 1}, as ordered.")


def main() -> None:
    make_server(SlowProvider(), int(os.environ.get("PROVIDER_PORT", "8092"))).serve_forever()


if __name__ == "__main__":
    main()
