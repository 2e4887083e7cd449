"""`python -m benchmarks.dispatch`: messages from the outbox to NATS, against bare publishing.

It starts Postgres, Valkey and NATS of its own with durable storage, and removes all of it at the end.
`--write` puts the table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import django

from benchmarks import table
from benchmarks.machine import SERVER_CPUS, description
from benchmarks.stage import Stage, stage
from benchmarks.table import Row


@dataclass(frozen=True, slots=True)
class Bench:
    running: Stage
    options: argparse.Namespace


def main() -> int:
    options = _options()
    print(f"{description()}.", flush=True)
    with stage({"DISPATCH_MAX_QUEUED_REQUESTS": "1000000"}) as running:
        os.environ.update(running.environment)
        django.setup()
        rows: list[Row] = []
        for name in options.only or PARTS:
            print(f"{name} ...", flush=True)
            rows += PARTS[name](Bench(running, options))
    text = table.markdown(rows)
    print(text)
    if options.write:
        table.write(f"{_preface(options)}\n\n{text}", part="dispatch")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=20_000, help="of each contender in each round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--relays", type=int, default=2, help="processes of the contender with several")
    parser.add_argument("--rate", type=int, default=500, help="messages per second, for latencies")
    parser.add_argument("--seconds", type=float, default=20.0, help="for latencies")
    parser.add_argument("--only", nargs="*", choices=list(PARTS), help="parts to run; all by default")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    return parser.parse_args()


def throughput(bench: Bench) -> list[Row]:
    """Messages per second."""
    from benchmarks.relaying import race

    options = bench.options
    result = race(bench.running, options.messages, options.rounds, options.relays)
    bare, one, several = (f"{median(rates):,.0f}" for rates in (result.bare, result.one, result.several))
    name = f"outbox to NATS, {options.relays} relays"
    return [
        Row("JetStream alone, the same messages", bare),
        Row("outbox to NATS, one relay", one, ratio=_of_bare(result.ratio(result.one)), target=">= 0.4"),
        Row(name, several, ratio=_of_bare(result.ratio(result.several))),
    ]


def latency(bench: Bench) -> list[Row]:
    """From the commit of a row until the message is at its subject."""
    from benchmarks.relaying import from_row_to_subject

    options = bench.options
    measured, missing = from_row_to_subject(bench.running, options.rate, options.seconds)
    p50, p99 = (f"{measured.percentile(share):.1f}" for share in (0.5, 0.99))
    work = f"from the outbox to the subject, at {options.rate}/s"
    return [Row(work, f"{measured.rate:,.0f}", p50, p99, errors=str(missing), target="p99 < 100 ms")]


def _of_bare(ratio: float) -> str:
    return f"{ratio:.2f} of JetStream alone"


def _preface(options: argparse.Namespace) -> str:
    return (
        f"{description()}. {options.messages:,} messages of each contender in {options.rounds} interleaved"
        f" rounds, to 100 subjects;\nall processes share {len(SERVER_CPUS)} of these cores. NATS and Postgres"
        f" write to disk before they confirm."
    )


PARTS: dict[str, Callable[[Bench], list[Row]]] = {"throughput": throughput, "latency": latency}

if __name__ == "__main__":
    sys.exit(main())
