"""`python -m benchmarks.fleet_storm`: a whole fleet played from one process, each agent with its own token.

It starts Postgres, Valkey, NATS, our web server and the sweep, lets every agent join at once, and beats for
all of them at the interval that the server sets. `--write` puts the table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from benchmarks import fleet, table
from benchmarks.load import Measured
from benchmarks.machine import CLIENT_CPUS, SERVER_CPUS, description
from benchmarks.players import Fleet, Played
from benchmarks.stage import ROOT, WORKERS, Stage, stage
from benchmarks.table import Row

_WRONG = (
    "SELECT count(DISTINCT object_id) FROM events_event WHERE type IN ('agent.unavailable', 'agent.unknown')"
)
_SWEPT = "SELECT now() - last_sweep_at < interval '30 s' FROM registry_sweeprecord"


def main() -> int:
    options = _options()
    print(f"{description()}. {options.agents:,} agents ...", flush=True)
    with stage() as running:
        url = running.environment["DATABASE_URL"]
        token = fleet.load_join_token(url, options.agents)
        server = running.serve("ours", "controlplane.asgi:application")
        os.sched_setaffinity(0, CLIENT_CPUS)
        with sweeping(running):
            played = asyncio.run(
                Fleet(
                    token,
                    options.agents,
                    server.port,
                    servers=(server.process.pid, running.postgres),
                    storm=options.storm,
                    beats=options.connections,
                ).play(options.seconds)
            )
            time.sleep(6)  # one more sweep
            wrong, swept = _ask(url, _WRONG), _ask(url, _SWEPT)
    if not swept:
        print("The sweep did not run, so nobody could be marked.", file=sys.stderr)
        return 1
    text = table.markdown(_rows(played, int(wrong)))
    print(text)
    if options.write:
        table.write(f"{_preface(options, played)}\n\n{text}", part="fleet")
    return 0


@contextmanager
def sweeping(running: Stage) -> Iterator[None]:
    """Celery's worker and beat in one process, as `make up` has them in two."""
    command = (sys.executable, "-m", "celery", "-A", "controlplane", "worker", "-B", "-l", "WARNING")
    schedule = ("--schedule", str(running.folder / "beat"), "--concurrency", "1", "--without-gossip")
    process = subprocess.Popen(
        (*command, *schedule),
        cwd=ROOT,
        env=running.environment,
        stdout=(running.folder / "worker.log").open("wb"),
        stderr=subprocess.STDOUT,
    )
    os.sched_setaffinity(process.pid, SERVER_CPUS)
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


def _ask(url: str, question: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(question).fetchone()
    assert row is not None
    return row[0]


def _rows(played: Played, wrong: int) -> list[Row]:
    late = Measured(latencies=played.late)
    again = f"{played.again} tried again" if played.again else ""
    return [
        _row("joins, all at once", played.registered, again),
        Row("  processor time, web and database, with the heartbeats meanwhile", "", cpu=_each(played)),
        _row(f"heartbeats, every {played.interval:g} s", played.beaten),
        Row("  of them, started after they were due", "", *_percentiles(late)),
        Row("agents wrongly unavailable", f"{wrong}", target="0"),
    ]


def _each(played: Played) -> str:
    return f"{played.spent / max(1, played.registered.answers) * 1e6:,.0f}"


def _row(work: str, measured: Measured, note: str = "") -> Row:
    errors = str(measured.errors)
    return Row(work, f"{measured.rate:,.0f}", *_percentiles(measured), errors=errors, ratio=note)


def _percentiles(measured: Measured) -> tuple[str, str]:
    return f"{measured.percentile(0.5):.1f}", f"{measured.percentile(0.99):.1f}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agents", type=int, default=100_000)
    parser.add_argument("--storm", type=int, default=256, help="connections that join")
    parser.add_argument("--connections", type=int, default=256, help="connections that beat")
    parser.add_argument("--seconds", type=float, default=60.0, help="of heartbeats that are measured")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    return parser.parse_args()


def _preface(options: argparse.Namespace, played: Played) -> str:
    return (
        f"{description()}. {options.agents:,} agents with a token each, played by one process over "
        f"{options.storm} + {options.connections} connections; {WORKERS} web workers. All joined within "
        f"{played.registered.seconds:.0f} s, beating meanwhile; then {options.seconds:g} s were measured. "
        "Servers, database and sweep share all cores but the last, which the client has."
    )


if __name__ == "__main__":
    sys.exit(main())
