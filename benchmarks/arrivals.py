"""When messages arrive at their subjects: the far end of measurements of dispatch."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_types import Message


class Arrivals:
    """Listens to all requests to agents. at: the time of arrival by the event's id, of `perf_counter`."""

    def __init__(self, url: str) -> None:
        self.at: dict[str, float] = {}
        self._nats = NatsConnection(url, name="arrivals")

    def __enter__(self) -> Self:
        self._nats.__enter__()
        if not self._nats.wait_connected(10):
            raise RuntimeError("NATS does not answer.")
        self._nats.subscribe("dcm.agent.>", self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._nats.__exit__(kind, error, trace)

    def _note(self, message: Message) -> None:
        now = time.perf_counter()
        self.at.setdefault(json.loads(message.body)["id"], now)

    def wait(self, number: int, seconds: float) -> None:
        """Return once that many have arrived, or after `seconds`."""
        deadline = time.monotonic() + seconds
        while len(self.at) < number and time.monotonic() < deadline:
            time.sleep(0.01)

    def since(self, started: Mapping[str, float]) -> tuple[list[float], int]:
        """Return the seconds from each start to the arrival, and how many have not arrived."""
        arrived = [self.at[name] - began for name, began in started.items() if name in self.at]
        return arrived, len(started) - len(arrived)
