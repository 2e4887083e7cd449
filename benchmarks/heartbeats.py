"""`python -m benchmarks.heartbeats`: durable heartbeats and the sweep, against what limits them.

It starts Postgres, Valkey and NATS of its own with durable storage, loads the fleet, and removes all of it at
the end. `--write` puts the table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass
from statistics import median

import django

from benchmarks import batched, fleet, rounds, sweeping, table
from benchmarks.fleet import Beating
from benchmarks.machine import description, memory_of
from benchmarks.rounds import Contender
from benchmarks.stage import WORKERS, Server, Stage, stage
from benchmarks.table import Row

# Nobody is silent by accident here: the leases of the benchmark last a day.
_ENVIRONMENT = {"FLEET_GUARD_PERCENT": "101", "LEASE_SECONDS": "86400", "HEARTBEATS_PER_SECOND": "1000000"}


@dataclass(slots=True)
class Bench:
    running: Stage
    fleet: list[Beating]
    requests: list[bytes]
    ours: Server
    plain: Server
    bare: Server
    rounds: int
    seconds: float

    def contender(self, name: str, server: Server, connections: int, status: int = 200) -> Contender:
        web, postgres = (server.process.pid,), (self.running.postgres,)
        return Contender(name, server.port, self.requests, connections, web, postgres, status=status)


def main() -> int:
    options = _options()
    print(f"{description()}. Loading {options.agents:,} agents ...", flush=True)
    with stage(_ENVIRONMENT) as running:
        os.environ.update(running.environment)
        django.setup()
        began = time.perf_counter()
        document = fleet.load(running.environment["DATABASE_URL"], options.agents, options.beating)
        print(f"{time.perf_counter() - began:.0f} s.", flush=True)
        bench = _open(running, document, options)
        rows: list[Row] = []
        for name in options.only or _PARTS:
            print(f"{name} ...", flush=True)
            rows += _PARTS[name](bench)
    text = table.markdown(rows)
    print(text)
    if options.write:
        table.write(f"{_preface(options)}\n\n{text}", part="heartbeats")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agents", type=int, default=1_000_000)
    parser.add_argument("--beating", type=int, default=100_000, help="agents that the client beats for")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each contender in each round")
    parser.add_argument("--only", nargs="*", choices=list(_PARTS), help="parts to run; all by default")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    options = parser.parse_args()
    if options.agents - options.beating < sweeping.MOST:
        parser.error(f"--agents must be {sweeping.MOST:,} more than --beating")
    return options


def _open(running: Stage, beating: list[Beating], options: argparse.Namespace) -> Bench:
    return Bench(
        running,
        beating,
        [beating.request() for beating in beating],
        running.serve("ours", "controlplane.asgi:application"),
        running.serve("plain", "controlplane.asgi:application", HEARTBEAT_CONNECTIONS="0"),
        running.serve("bare", "benchmarks.peers.empty:application"),
        options.rounds,
        options.seconds,
    )


def beating(bench: Bench) -> list[Row]:
    """B1 to B3."""
    rows: list[Row] = []
    for connections, target in ((256, ">= 0.45"), (32, ">= 0.30")):
        bare = bench.contender("empty 204, the same server", bench.bare, connections, status=204)
        ours = bench.contender("heartbeats, fast path", bench.ours, connections)
        plain = bench.contender("heartbeats, Django alone", bench.plain, connections)
        rounds.play([bare, ours, plain], rounds=bench.rounds, seconds=bench.seconds)
        rows += [
            _row(bare),
            _row(ours, f"{rounds.ratio(ours, bare):.2f} of the empty server", target),
            _row(plain, f"{rounds.ratio(ours, plain):.0f} x slower", ">= 25 x"),
        ]
        if connections == 256:
            rows.append(_processor_row(ours, bare))
    memory = memory_of([bench.ours.process.pid]) / 2**20
    return [*rows, Row(f"resident memory, {WORKERS} workers and their parent", f"{memory:.0f} MiB")]


def alone(bench: Bench) -> list[Row]:
    """The statement without HTTP."""
    numbers = [batched.rate(bench.fleet, bench.seconds) for _ in range(bench.rounds)]
    name = f"the statement alone, batches of {batched.SIZE}, {batched.CONNECTIONS} connections"
    return [Row(name, f"{median(numbers):,.0f}")]


def swept(bench: Bench) -> list[Row]:
    """B8."""
    url = bench.running.environment["DATABASE_URL"]
    quiet = bench.contender("heartbeats, no sweep", bench.ours, 256)
    return [*sweeping.by_itself(url), *sweeping.beside_heartbeats(url, quiet, bench.seconds)]


def _processor_row(ours: Contender, bare: Contender) -> Row:
    spent, least = (sum(rounds.processor(our)) for our in (ours, bare))
    return Row(
        "processor time of a heartbeat, 256 connections",
        f"{spent:.0f} µs",
        ratio=f"{spent / max(1.0, least):.1f} x empty",
        target="<= 2.3 x",
    )


def _row(sender: Contender, ratio: str = "", target: str = "") -> Row:
    whole = rounds.merged(sender)
    web, postgres = rounds.processor(sender)
    return Row(
        f"{sender.name}, {sender.connections} connections",
        f"{rounds.rate(sender):,.0f}",
        f"{whole.percentile(0.5):.1f}",
        f"{whole.percentile(0.99):.1f}",
        f"{web:.0f} + {postgres:.0f}",
        str(whole.errors),
        ratio,
        target,
    )


def _preface(options: argparse.Namespace) -> str:
    return (
        f"{description()}. {options.agents:,} agents, {options.beating:,} of them beating at random with a "
        f"token each, {WORKERS} workers; {options.rounds} interleaved rounds of {options.seconds:g} s; "
        "servers and database share all cores but the last, which the client has."
    )


_PARTS = {"beating": beating, "alone": alone, "sweep": swept}

if __name__ == "__main__":
    sys.exit(main())
