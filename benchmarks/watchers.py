"""`python -m benchmarks.watchers`: ten thousand idle streams of events, and an event now and then.

It starts Postgres, Valkey, NATS and our web server, opens every stream, waits, and then creates projects, one
after another: each watcher hears of each. `--write` puts the table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import table
from benchmarks.lines import Lines
from benchmarks.load import Measured
from benchmarks.machine import CLIENT_CPUS, description, family, memory_of, processes, seconds_of
from benchmarks.stage import WORKERS, stage
from benchmarks.table import Row

# So many are opened at a time; they are idle watchers that are measured, not a storm of them.
_AT_ONCE = 100
_PATIENCE_SECONDS = 30.0


@dataclass(slots=True)
class Watcher(asyncio.Protocol):
    """A stream. heard: when it was told of each object, by the object's name."""

    request: bytes
    opened: asyncio.Future[None]
    heard: dict[bytes, float] = field(default_factory=dict)
    lost: bool = False
    _rest: bytes = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        if not self.opened.done():
            self.opened.set_result(None) if b" 200 " in data[:20] else self.opened.cancel()
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line.startswith(b"data:") and b"watched-" in line:
                name = b"watched-" + line.partition(b"watched-")[2].split(b'"')[0]
                self.heard.setdefault(name, time.perf_counter())

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        if not self.opened.done():
            self.opened.cancel()


@dataclass(slots=True)
class Measurements:
    """opened, idle: seconds. cpu: seconds of processor time while idle. threads, memory: more than before."""

    opened: float = 0.0
    idle: float = 0.0
    cpu: float = 0.0
    threads: int = 0
    memory: int = 0
    delivery_times: Measured = field(default_factory=Measured)
    lost: int = 0


def main() -> int:
    options = _options()
    _raise_limit(options.watchers)
    print(f"{description()}. {options.watchers:,} watchers ...", flush=True)
    room = {name: str(2 * options.watchers) for name in ("WATCHERS_PER_WORKER", "WATCHERS_PER_PRINCIPAL")}
    with stage(room) as running:
        token = running.administrator()
        server = running.serve("ours", "controlplane.asgi:application")
        os.sched_setaffinity(0, CLIENT_CPUS)
        result = asyncio.run(_watch(options, server.port, token, (server.process.pid, running.postgres)))
    text = table.markdown(_rows(options, result))
    print(text)
    if options.write:
        table.write(f"{_preface(options, result)}\n\n{text}", part="watchers")
    return int(result.lost > 0)


async def _watch(options: argparse.Namespace, port: int, token: str, roots: tuple[int, int]) -> Measurements:
    measurements, began = Measurements(), time.perf_counter()
    threads, memory = _threads(roots[0]), memory_of(roots[:1])
    watchers = await _open(options.watchers, port, token)
    measurements.opened = time.perf_counter() - began
    measurements.threads, measurements.memory = _threads(roots[0]) - threads, memory_of(roots[:1]) - memory
    used, began = seconds_of(roots), time.perf_counter()
    await asyncio.sleep(options.seconds)
    measurements.cpu, measurements.idle = seconds_of(roots) - used, time.perf_counter() - began
    lines = Lines(port, 1)
    for number in range(options.events):
        await _announce(lines, token, f"watched-{number}", watchers, measurements.delivery_times)
    measurements.lost = sum(watcher.lost for watcher in watchers)
    lines.close()
    return measurements


async def _open(count: int, port: int, token: str) -> list[Watcher]:
    request = _request("GET", "/api/v1/events", token, accept="text/event-stream")
    room = asyncio.Semaphore(_AT_ONCE)
    loop = asyncio.get_running_loop()

    async def watch_once() -> Watcher:
        async with room:
            watcher = Watcher(request, loop.create_future())
            await loop.create_connection(lambda: watcher, "127.0.0.1", port)
            await watcher.opened
            return watcher

    return await asyncio.gather(*(watch_once() for _ in range(count)))


async def _announce(
    lines: Lines, token: str, name: str, watchers: list[Watcher], delivery_times: Measured
) -> None:
    """Make one event, and wait until everybody has heard of it."""
    body = json.dumps({"id": name, "name": name}).encode()
    began = time.perf_counter()
    answer = await lines.ask(_request("POST", "/api/v1/scopes/projects", token, body))
    assert answer.status == 201, answer.body
    key = name.encode()
    while time.perf_counter() - began < _PATIENCE_SECONDS and not all(
        key in watcher.heard for watcher in watchers
    ):
        await asyncio.sleep(0.05)
    heard = [watcher.heard[key] - began for watcher in watchers if key in watcher.heard]
    delivery_times.latencies += heard
    delivery_times.answers += len(heard)
    delivery_times.errors += len(watchers) - len(heard)
    delivery_times.seconds += max(heard, default=0.0)


def _request(method: str, path: str, token: str, body: bytes = b"", accept: str = "*/*") -> bytes:
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        f"Accept: {accept}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _threads(root: int) -> int:
    members = family(root, processes())
    return sum(len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in members)


def _raise_limit(watchers: int) -> None:
    """Each stream is an open file, here and in the server."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < watchers + 200:
        raise SystemExit(f"This shell allows {hard} open files; {watchers} streams need more (ulimit -Hn).")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _rows(options: argparse.Namespace, measurements: Measurements) -> list[Row]:
    delivery_times, each = measurements.delivery_times, measurements.memory / options.watchers / 1024
    percentiles = (f"{delivery_times.percentile(0.5):.0f}", f"{delivery_times.percentile(0.99):.0f}")
    idle = f"{measurements.cpu / measurements.idle:.0%} of one core, web + database"
    return [
        Row(
            "streams opened, one after another",
            f"{options.watchers / measurements.opened:,.0f}",
            errors=str(measurements.lost),
        ),
        Row("  threads more than without them", "", ratio=str(measurements.threads), target="not one each"),
        Row("  memory of the web server more", "", ratio=f"{each:.0f} KiB each"),
        Row("  while nothing happens", "", ratio=idle),
        Row(
            "an event told, from the request that makes it",
            f"{delivery_times.answers / delivery_times.seconds:,.0f}",
            *percentiles,
            errors=str(delivery_times.errors),
        ),
    ]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--watchers", type=int, default=10_000)
    parser.add_argument("--events", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=30.0, help="of idleness that are measured")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    return parser.parse_args()


def _preface(options: argparse.Namespace, measurements: Measurements) -> str:
    return (
        f"{description()}. {options.watchers:,} streams of one process, {WORKERS} web workers, "
        f"{options.events} events, {measurements.idle:.0f} s of idleness. "
        "Servers and database share all cores but the last, which the client has."
    )


if __name__ == "__main__":
    sys.exit(main())
