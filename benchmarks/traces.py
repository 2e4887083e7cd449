"""`python -m benchmarks.traces`: what traces cost: off, one of a hundred, and everything recorded.

Servers on one database, which differ in their OTEL_ variables alone, and a collector that takes all. A second
server without traces shows the noise: how far two equal servers differ.
Each round asks all of them one after the other, in another order each time; ratios are made inside a round.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from statistics import median

import django

from benchmarks import fleet, rounds, table
from benchmarks.machine import CPUS, description
from benchmarks.rounds import Contender
from benchmarks.stage import Server, Stage, stage
from benchmarks.table import Row
from controlplane.local.programs import free_port

_ENVIRONMENT = {"FLEET_GUARD_PERCENT": "101", "LEASE_SECONDS": "86400", "HEARTBEATS_PER_SECOND": "1000000"}
_READ = "/api/v1/overrides/effective?project=flytesnacks&domain=development"
_SAMPLED = b"traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n"
_CONNECTIONS = 32
_OFF, _AGAIN, _SOME, _ALL = "off", "off, again", "1 %", "all"


class _Sink(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Log nothing."""


def _collect(port: int) -> None:
    ThreadingHTTPServer(("127.0.0.1", port), _Sink).serve_forever()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each contender in each round")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    options = parser.parse_args()
    port = free_port()
    collector = get_context("spawn").Process(target=_collect, args=(port,), daemon=True)
    collector.start()
    with stage(_ENVIRONMENT, processors=CPUS) as running:
        os.environ.update(running.environment)
        django.setup()
        agents = fleet.load(running.environment["DATABASE_URL"], options.agents, options.agents)
        running.manage("seed_demo")
        lines = f"Host: 127.0.0.1\r\nAuthorization: Bearer {running.administrator()}\r\n\r\n".encode()
        work = {
            "heartbeat": [agent.request() for agent in agents],
            "effective read": [f"GET {_READ} HTTP/1.1\r\n".encode() + lines],
            "GET /api/v1/me": [b"GET /api/v1/me HTTP/1.1\r\n" + lines],
        }
        servers = _servers(running, port)
        rows = [
            row
            for name, requests in work.items()
            for row in _compare(running, servers, name, requests, options)
        ]
    collector.kill()
    preface = f"{description()}. Servers, database, collector and client share the processors."
    text = f"{preface}\n\n{table.markdown(rows)}"
    print(text)
    if options.write:
        table.write(text, "traces")
    return 0


def _servers(running: Stage, port: int) -> dict[str, Server]:
    endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}"}
    environments = {_OFF: {}, _AGAIN: {}, _SOME: endpoint, _ALL: {**endpoint, "OTEL_TRACES_SAMPLER_ARG": "1"}}
    application = "controlplane.asgi:application"
    return {
        name: running.serve(f"traces-{number}", application, workers=1, **more)
        for number, (name, more) in enumerate(environments.items())
    }


def _compare(
    running: Stage,
    servers: dict[str, Server],
    name: str,
    requests: Sequence[bytes],
    options: argparse.Namespace,
) -> Iterator[Row]:
    is_fast = not name.startswith("GET")
    contenders = []
    for traces, server in servers.items():
        # Nobody but the caller has a request of a fast path recorded.
        sampled = is_fast and traces == _ALL
        sent = [
            request.replace(b"Host:", _SAMPLED + b"Host:", 1) if sampled else request for request in requests
        ]
        contenders.append(
            Contender(traces, server.port, sent, _CONNECTIONS, (server.process.pid,), (running.postgres,))
        )
    # The first requests import what they need, which takes seconds on a busy machine.
    rounds.play(contenders, rounds=1, seconds=3, warm_up=2, repeats=1)
    for contender in contenders:
        contender.results.clear()
    for number in range(options.rounds):
        turn = number % len(contenders)
        order = [*contenders[turn:], *contenders[:turn]]
        rounds.play(order, rounds=1, seconds=options.seconds, warm_up=0.3, repeats=1)
    for contender in contenders:
        yield _row(name, contender, contenders[0], is_fast=is_fast)


def _row(name: str, contender: Contender, off: Contender, *, is_fast: bool) -> Row:
    results = contender.results
    measured = [result.measured for result in results]
    paired = zip(results, off.results, strict=True)
    pairs = [(here, there) for here, there in paired if here.measured.rate and there.measured.rate]
    more = median(here.web / there.web for here, there in pairs) - 1
    slower = median(there.measured.rate / here.measured.rate for here, there in pairs)
    target = {_SOME: "CPU <= +2 %" if is_fast else "CPU <= +8 %"}.get(contender.name, "")
    return Row(
        f"{name}, traces: {contender.name}",
        f"{median(run.rate for run in measured):,.0f}",
        f"{median(run.percentile(0.5) for run in measured):.1f}",
        f"{median(run.percentile(0.99) for run in measured):.1f}",
        cpu=f"{median(one.web for one in results):.0f} + {median(one.database for one in results):.0f}",
        errors=str(sum(run.errors for run in measured)),
        ratio="" if contender is off else f"CPU {more:+.1%}, time {slower - 1:+.1%}",
        target=target,
    )


if __name__ == "__main__":
    sys.exit(main())
