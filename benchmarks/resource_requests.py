"""`python -m benchmarks.resource_requests`: thousands of resource requests to hundreds of played agents.

One agent in ten answers with errors, or not at all. First as many requests as the API takes, then half as
many a second, of which the time from the POST to the subject is measured. At the end every request must be in
a state with a reason. `--write` puts the table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import psycopg

from benchmarks import table
from benchmarks.fleet_storm import sweeping
from benchmarks.lines import Lines
from benchmarks.load import Measured
from benchmarks.machine import CPUS, description
from benchmarks.resource_players import Arrivals, Cast, Part, PlayedAgent
from benchmarks.stage import ROOT, WORKERS, Stage, stage
from benchmarks.table import Row

# Shorter than in production, so that silent agents are noticed within the benchmark.
_TIMERS = {"DISPATCH_PENDING_SECONDS": "5", "DISPATCH_PENDING_TRIES": "1", "CONGESTION_LAG": "100000"}
# As fast as possible; the rest is sent at half the rate that this reaches.
_FULL_SPEED_SHARE = 0.9
_SETTLE_SECONDS = 600.0
_BEAT_SECONDS = 5.0
_UNDECIDED = "SELECT count(*) FROM registry_resource WHERE state IN ('pending', 'queued', 'provisioning')"
_STATES = "SELECT state, count(*), count(*) FILTER (WHERE reason = '') FROM registry_resource GROUP BY state"


def main() -> int:
    options = _options()
    print(f"{description()}. {options.requests:,} requests, {options.agents} agents ...", flush=True)
    with stage(_TIMERS, processors=CPUS) as running:
        token = running.administrator()
        server = running.serve("ours", "controlplane.asgi:application")
        with sweeping(running), _relaying(running):
            played = asyncio.run(_Play(running, server.port, token, options).run())
    text = table.markdown(_rows(played))
    print(text)
    if options.write:
        table.write(f"{_preface(options)}\n\n{text}", part="resource-requests")
    return 0 if played["without_reason"] == 0 else 1


@contextmanager
def _relaying(running: Stage) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, "manage.py", "relay"],
        cwd=ROOT,
        env=running.environment,
        stdout=(running.folder / "relay.log").open("wb"),
        stderr=subprocess.STDOUT,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


class _Play:
    def __init__(self, running: Stage, port: int, token: str, options: argparse.Namespace) -> None:
        self._running, self._options, self._token = running, options, token
        self._lines = Lines(port, 32)
        # The senders of requests leave no line to others.
        self._beating_line = Lines(port, 1)
        self._sent_at: dict[str, float] = {}
        self._number = 0
        self._full, self._half = Measured(), Measured()

    async def run(self) -> dict[str, Any]:
        agents = [await self._register(number) for number in range(self._options.agents)]
        cast = Cast(self._running.environment["NATS_URL"], agents)
        await self._until_streams_exist()
        await cast.enter()
        beating = asyncio.create_task(self._keep_beating(agents))
        await asyncio.sleep(15)  # the monitor has seen the consumers
        await self._at_full_speed()
        first_of_half = self._number
        await self._at_rate(self._full.rate / 2)
        states = await self._settle()
        beating.cancel()
        await cast.leave()
        self._lines.close()
        self._beating_line.close()
        return self._figures(cast.arrivals, first_of_half, states)

    async def _register(self, number: int) -> PlayedAgent:
        tenth, part = max(1, self._options.agents // 20), Part.GOOD
        if number < 2 * tenth:
            part = Part.FAILING if number < tenth else Part.SILENT
        name = f"agent-{number:04}"
        body = {
            "name": name,
            "environment": "bench",
            "service_types": ["container"],
            "cost": "low",
            "topic_name": f"dcm.agent.{name}",
        }
        answer = await self._lines.ask(self._request("POST", "agents", body))
        assert answer.status == 201, answer
        return PlayedAgent(json.loads(answer.body)["agent_id"], name, body["topic_name"], part)

    async def _until_streams_exist(self) -> None:
        await asyncio.sleep(10)

    async def _keep_beating(self, agents: list[PlayedAgent]) -> None:
        while True:
            now = datetime.now(UTC).isoformat()
            beats = [{"agent_id": agent.id, "timestamp": now, "consumer_lag": 0} for agent in agents]
            answer = await self._beating_line.ask(self._request("POST", "agents:heartbeat", {"items": beats}))
            if answer.status != 200:
                print(answer.status, answer.body[:300], file=sys.stderr)
            await asyncio.sleep(_BEAT_SECONDS)

    async def _at_full_speed(self) -> None:
        began, last = time.perf_counter(), int(_FULL_SPEED_SHARE * self._options.requests)
        await asyncio.gather(*(self._send_until(last) for _ in range(32)))
        self._full.seconds = time.perf_counter() - began

    async def _send_until(self, last: int) -> None:
        while self._number < last:
            await self._send(self._full)

    async def _at_rate(self, rate: float) -> None:
        began, tasks = time.perf_counter(), []
        while self._number < self._options.requests:
            due = began + len(tasks) / rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            tasks.append(asyncio.create_task(self._send(self._half)))
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
        self._half.seconds = time.perf_counter() - began

    async def _send(self, measured: Measured) -> None:
        number = self._number
        self._number += 1
        resource_id = f"r-{number:06}"
        began = self._sent_at[resource_id] = time.perf_counter()
        body = {"service_type": "container", "spec": {"image": "nginx", "number": number}}
        answer = await self._lines.ask(self._request("POST", f"resources?id={resource_id}", body))
        if answer.status == 202:
            measured.answers += 1
            measured.latencies.append(time.perf_counter() - began)
        else:
            measured.errors += 1
            print(answer.status, answer.body[:300], file=sys.stderr)

    async def _settle(self) -> list[tuple[str, int, int]]:
        deadline = time.monotonic() + _SETTLE_SECONDS
        with psycopg.connect(self._running.environment["DATABASE_URL"], autocommit=True) as connection:
            while connection.execute(_UNDECIDED).fetchone() != (0,) and time.monotonic() < deadline:
                await asyncio.sleep(1)
            return [(str(a), int(b), int(c)) for a, b, c in connection.execute(_STATES).fetchall()]

    def _figures(
        self, arrivals: Arrivals, first_of_half: int, states: list[tuple[str, int, int]]
    ) -> dict[str, Any]:
        arrived = Measured(seconds=self._half.seconds)
        for number in range(first_of_half, self._number):
            resource_id = f"r-{number:06}"
            if resource_id in arrivals.at:
                arrived.answers += 1
                arrived.latencies.append(arrivals.at[resource_id] - self._sent_at[resource_id])
        return {
            "full": self._full,
            "half": self._half,
            "arrived": arrived,
            "states": states,
            "without_reason": sum(
                without for state, _, without in states if state not in ("running", "deleted")
            ),
        }

    def _request(self, method: str, path: str, body: Any) -> bytes:
        text = json.dumps(body).encode()
        head = (
            f"{method} /api/v1/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self._token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
        )
        return head.encode() + text


def _rows(played: dict[str, Any]) -> list[Row]:
    states = ", ".join(f"{count:,} {state}" for state, count, _ in sorted(played["states"]))
    return [
        _row("POST of a resource, as fast as 32 connections can", played["full"]),
        _row("POST of a resource, at half that rate", played["half"]),
        _row("  from the POST to the agent's subject", played["arrived"]),
        Row("at the end", states),
        Row("without a reason", str(played["without_reason"]), target="0"),
    ]


def _row(work: str, measured: Measured) -> Row:
    percentiles = (f"{measured.percentile(0.5):.1f}", f"{measured.percentile(0.99):.1f}")
    return Row(work, f"{measured.rate:,.0f}", *percentiles, errors=str(measured.errors))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--agents", type=int, default=200)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    return parser.parse_args()


def _preface(options: argparse.Namespace) -> str:
    return (
        f"{description()}. {options.requests:,} requests to {options.agents} agents, of which one in ten "
        f"answers with errors or not at all; {WORKERS} web workers, one relay, one worker, and the played "
        "agents on the same cores."
    )


if __name__ == "__main__":
    sys.exit(main())
