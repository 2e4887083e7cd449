"""`python -m benchmarks.effective_waiters`: thousands of long polls of effective values.

It starts Postgres, Valkey, NATS and one web worker, lets every poll wait for a scope of its own, and then
changes the values of one scope, and of all. `--write` puts the table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks import table
from benchmarks.lines import Line
from benchmarks.load import Measured
from benchmarks.machine import CLIENT_CPUS, description, memory_of, seconds_of
from benchmarks.stage import stage
from benchmarks.table import Row

_AT_ONCE = 100
_PLACE = "project=flytesnacks&domain=development"
# Each covers all scopes.
_RUNGS = ("", "domain=development", "project=flytesnacks", _PLACE)
_TYPE = "/api/v1/overrides/workflow_execution_config"


class Waiter(Line):
    """A connection that always waits for the next answer of its scope. answered_at: of the last change."""

    def __init__(self, number: int, token: str) -> None:
        super().__init__()
        self._path = f"/api/v1/overrides/effective?{_PLACE}&workflow=w{number}"
        self._token = token
        self._etag = ""
        self.answered_at = 0.0
        self.failures = 0

    async def read(self) -> None:
        self.failures += (await self.ask(_request("GET", self._path, self._token))).status != 200
        self._note_etag()

    async def wait_for_ever(self) -> None:
        path = f"{self._path}&wait=60"
        while self.is_open:
            answer = await self.ask(_request("GET", path, self._token, f"If-None-Match: {self._etag}\r\n"))
            if answer.status == 200:
                self.answered_at = time.perf_counter()
            else:
                self.failures += answer.status not in (0, 304)
            self._note_etag()

    def _note_etag(self) -> None:
        _, mark, rest = self._read.partition(b"etag: ")
        self._etag = rest.partition(b"\r\n")[0].decode() if mark else self._etag


@dataclass(slots=True)
class Measurements:
    """idle: seconds, and seconds of processor time of web and database. memory: bytes more than before."""

    opened: float = 0.0
    idle: tuple[float, float, float] = (0.0, 0.0, 0.0)
    memory: int = 0
    failures: int = 0
    single: Measured = field(default_factory=Measured)
    everybody: Measured = field(default_factory=Measured)


def main() -> int:
    options = _options()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    room = {name: str(2 * options.waiters) for name in ("WATCHERS_PER_WORKER", "WATCHERS_PER_PRINCIPAL")}
    with stage(room) as running:
        token = running.administrator()
        server = running.serve("ours", "controlplane.asgi:application", workers=1)
        os.sched_setaffinity(0, CLIENT_CPUS)
        roots = (server.process.pid, running.postgres)
        measurements = asyncio.run(_measure(options, server.port, token, roots))
    text = table.markdown(_rows(options, measurements))
    print(text)
    if options.write:
        preface = f"{description()}. {options.waiters:,} long polls of as many scopes, one web worker."
        table.write(f"{preface}\n\n{text}", part="effective waiters")
    return int(measurements.failures > 0)


async def _measure(
    options: argparse.Namespace, port: int, token: str, roots: tuple[int, int]
) -> Measurements:
    measurements, loop = Measurements(), asyncio.get_running_loop()
    memory, began = memory_of(roots[:1]), time.perf_counter()
    _, line = await loop.create_connection(Line, "127.0.0.1", port)
    project = json.dumps({"id": "flytesnacks", "name": "F"}).encode()
    await line.ask(_request("POST", "/api/v1/scopes/projects", token, body=project))
    waiters = await _open(options.waiters, port, token)
    polls = [asyncio.create_task(waiter.wait_for_ever()) for waiter in waiters]
    await asyncio.sleep(2)
    measurements.opened, measurements.memory = time.perf_counter() - began - 2, memory_of(roots[:1]) - memory
    measurements.idle = await _idle(options.seconds, roots)
    for number in range(options.changes):
        query = f"{_PLACE}&workflow=w{number}"
        await _change(line, token, query, waiters[number : number + 1], measurements.single)
    for query in _RUNGS:
        await _change(line, token, query, waiters, measurements.everybody)
    measurements.failures = sum(waiter.failures for waiter in waiters)
    for waiter in waiters:
        waiter.close()
    await asyncio.gather(*polls)
    line.close()
    return measurements


async def _open(count: int, port: int, token: str) -> list[Waiter]:
    room, loop = asyncio.Semaphore(_AT_ONCE), asyncio.get_running_loop()

    async def open_one(number: int) -> Waiter:
        async with room:
            _, waiter = await loop.create_connection(lambda: Waiter(number, token), "127.0.0.1", port)
            await waiter.read()
            return waiter

    return await asyncio.gather(*(open_one(number) for number in range(count)))


async def _idle(seconds: float, roots: tuple[int, int]) -> tuple[float, float, float]:
    web, database = (seconds_of((root,)) for root in roots)
    began = time.perf_counter()
    await asyncio.sleep(seconds)
    used = [seconds_of((root,)) for root in roots]
    return time.perf_counter() - began, used[0] - web, used[1] - database


async def _change(line: Line, token: str, query: str, waiters: Sequence[Waiter], times: Measured) -> None:
    """Set a value, and wait until all of these have it. Their times count from the confirmation."""
    body = json.dumps({"attributes": {"max_parallelism": 10}}).encode()
    for waiter in waiters:
        waiter.answered_at = 0.0
    answer = await line.ask(_request("PUT", f"{_TYPE}?{query}", token, body=body))
    assert answer.status == 201, answer.body
    began, deadline = time.perf_counter(), time.perf_counter() + 30
    while not all(waiter.answered_at for waiter in waiters) and time.perf_counter() < deadline:
        await asyncio.sleep(0.01)
    latencies = [max(waiter.answered_at - began, 0.0) for waiter in waiters if waiter.answered_at]
    times.latencies += latencies
    times.answers += len(latencies)
    times.errors += len(waiters) - len(latencies)
    times.seconds += max(latencies, default=0.0)


def _request(method: str, path: str, token: str, more: str = "", body: bytes = b"") -> bytes:
    length = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n{more}{length}\r\n"
    )
    return head.encode() + body


def _rows(options: argparse.Namespace, measurements: Measurements) -> list[Row]:
    seconds, web, database = measurements.idle
    each = measurements.memory / options.waiters / 1024
    return [
        Row("polls opened, with a first read", f"{options.waiters / measurements.opened:,.0f}"),
        Row("  memory of the web server more", "", ratio=f"{each:.0f} KiB each"),
        Row(
            "  while nothing changes",
            "",
            ratio=f"{web / seconds:.1%} + {database / seconds:.1%} of one core, web + database",
        ),
        _row("one scope changes, from its confirmation", measurements.single),
        _row("all scopes change, from the confirmation", measurements.everybody),
    ]


def _row(name: str, times: Measured) -> Row:
    percentiles = (f"{times.percentile(0.5):.0f}", f"{times.percentile(0.99):.0f}")
    return Row(name, f"{times.answers / times.seconds:,.0f}", *percentiles, errors=str(times.errors))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--waiters", type=int, default=5_000)
    parser.add_argument("--changes", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20.0, help="of idleness that are measured")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
