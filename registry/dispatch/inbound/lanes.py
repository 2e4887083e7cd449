"""Lanes: messages of a batch are handled at the same time, those about one resource in their order."""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from zlib import crc32

from django.db import connections

from controlplane.messaging.nats_types import Received

# Good enough to tell resources apart: a message that is read otherwise is handled out of order at worst.
_RESOURCE = re.compile(rb'"resource_id"\s*:\s*"([^"]*)"')


class Lanes:
    """A pool of threads, each with a connection to the database. handle: called with messages of one lane."""

    def __init__(self, number: int, handle: Callable[[Sequence[Received]], None]) -> None:
        self._number, self._handle = number, handle
        self._pool = ThreadPoolExecutor(number, thread_name_prefix="lane")

    def handle(self, messages: Sequence[Received]) -> None:
        """Handle all messages, and wait for the end."""
        by_lane: dict[int, list[Received]] = defaultdict(list)
        for message in messages:
            by_lane[lane_of(message.body, self._number)].append(message)
        for lane in [self._pool.submit(self._handle, lane) for lane in by_lane.values()]:
            lane.result()

    def close(self) -> None:
        """End the threads, and close their connections."""
        barrier = threading.Barrier(self._number)

        def close() -> None:
            # Each thread gets one of these, because none ends before all have begun.
            barrier.wait()
            connections.close_all()

        for closing in [self._pool.submit(close) for _ in range(self._number)]:
            closing.result()
        self._pool.shutdown()


def lane_of(body: bytes, number: int) -> int:
    """Return the lane of a message: the same for all that name the same resource. Pure."""
    match = _RESOURCE.search(body)
    return crc32(match[1] if match else body) % number
