"""Slow clients beside ordinary ones: these keep their rate, and memory stays bounded.

There are two kinds: thousands of clients that send a byte per second, and hundreds that pipeline requests and
read no response. `SLOW_CLIENTS_SECONDS` and `SLOW_CLIENTS_ROUNDS` shorten a run; the table is printed (`-s`).
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.integration.controlplane.web.test_raw_requests import Heartbeats, Reads
from tests.support.slow_clients import raise_limit_of_files

SECONDS = float(os.environ.get("SLOW_CLIENTS_SECONDS", "10"))
ROUNDS = int(os.environ.get("SLOW_CLIENTS_ROUNDS", "3"))
ORDINARY = 16
CONNECTING_SECONDS = 60.0
# For the answers that clients get before theirs are unread, and the first bytes of slow ones.
SETTLING_SECONDS = 5.0


@dataclass(frozen=True)
class Played:
    """seconds: of each answer, in order of size."""

    seconds: list[float]

    @property
    def rate(self) -> float:
        return len(self.seconds) / SECONDS

    @property
    def p99(self) -> float:
        return self.seconds[int(0.99 * len(self.seconds))]


async def _ask(port: int, request: bytes, until: float) -> list[float]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    seconds = []
    while (began := time.monotonic()) < until:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        length = next(int(line[16:]) for line in head.split(b"\r\n") if line.startswith(b"content-length: "))
        await reader.readexactly(length)
        seconds.append(time.monotonic() - began)
    writer.close()
    return seconds


async def _play(port: int, requests: list[bytes]) -> Played:
    until = time.monotonic() + SECONDS
    asked = await asyncio.gather(*(_ask(port, request, until) for request in requests))
    return Played(sorted(seconds for each in asked for seconds in each))


@contextmanager
def slow_clients(port: int, heartbeat: bytes, read: bytes, counts: dict[str, int]) -> Iterator[None]:
    process = subprocess.Popen((sys.executable, "-m", "tests.support.slow_clients"), stdin=subprocess.PIPE)
    try:
        texts = {"heartbeat": heartbeat.decode(), "read": read.decode()}
        assert process.stdin
        process.stdin.write(json.dumps({"port": port, **counts, **texts}).encode())
        process.stdin.close()
        until = time.monotonic() + CONNECTING_SECONDS
        while connections_to(port) < 0.9 * sum(counts.values()) and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(SETTLING_SECONDS)
        yield
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def memory_of(parent: int) -> float:
    """MiB of a process and its children."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in (str(parent), *children)]
    return sum(pages) * os.sysconf("SC_PAGE_SIZE") / 2**20


def connections_to(port: int) -> int:
    """Established ones of a local server."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    fields = [line.split() for line in lines]
    return sum(1 for each in fields if each[1].endswith(f":{port:04X}") and each[3] == "01")


@pytest.mark.parametrize(
    "counts", [{"writers": 2000, "readers": 0}, {"writers": 0, "readers": 200}], ids=["writers", "readers"]
)
def test_others_keep_their_rate_beside_slow_clients(live: Any, counts: dict[str, int]) -> None:
    raise_limit_of_files()
    web = next(program.process.pid for program in live.running if program.name == "web")
    heartbeat, read = Heartbeats().plain.write(), Reads().plain.write()
    requests = [heartbeat, read] * (ORDINARY // 2)
    asyncio.run(_play(live.port, requests))  # each worker knows the token and has its snapshot
    memory, ratios, grown = memory_of(web), [], 0.0

    for _ in range(ROUNDS):
        before = asyncio.run(_play(live.port, requests))
        with slow_clients(live.port, heartbeat, read, counts):
            connected = connections_to(live.port)
            beside = asyncio.run(_play(live.port, requests))
            grown = max(grown, memory_of(web) - memory)
        after = asyncio.run(_play(live.port, requests))
        ratios.append(2 * beside.rate / (before.rate + after.rate))
        print(f"\n{connected} slow connections; web processes: {memory:.0f} MiB + {grown:.0f} MiB")
        for name, played in (("before", before), ("beside", beside), ("after", after)):
            print(f"{name:6} {played.rate:8.0f} answers/s   p99 {played.p99 * 1000:8.1f} ms")
        assert connected >= 0.9 * sum(counts.values())

    assert statistics.median(ratios) >= 0.9
    assert grown < 150
