"""Events in a plain table and in monthly partitions: COPY, numbering and `after`, and the turn between them.

Figures: processor time of the Postgres backend in microseconds per event, from /proc, and blocks read by
`after`. Ratios of one run count; absolute times depend on the machine.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import django

from benchmarks.stage import stage

_BATCH = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=20_000, help="Events of each measurement.")
    arguments = parser.parse_args()
    with stage() as running:
        os.environ.update(running.environment)
        django.setup()
        _run(arguments.events)


def _run(count: int) -> None:
    from controlplane.retention import turning
    from controlplane.retention.logs import EVENTS
    from tests.support.plain_logs import plain_event_log

    with plain_event_log():
        _measure("warm-up", count)
        plain = _measure("plain table", count)
        started = time.monotonic()
        for step in turning.turn(EVENTS):
            print(f"turn: {step}: {1000 * (time.monotonic() - started):.0f} ms")
            started = time.monotonic()
        parted = _measure("partitions", count)
    for name, value in plain.items():
        print(f"{name}: partitions / plain = {parted[name] / value:.2f}")


def _measure(where: str, count: int) -> dict[str, float]:
    from django.db import transaction

    from controlplane.events import log

    figures = {}
    before = _backend_seconds()
    for _ in range(count // _BATCH):
        with transaction.atomic():
            log.append_each([_entry(n) for n in range(_BATCH)])
    figures["COPY"] = _backend_seconds() - before
    before = _backend_seconds()
    log.number_committed()
    figures["numbering"] = _backend_seconds() - before
    figures["blocks of after"] = float(_blocks(log.last_given() - 100))
    for name in ("COPY", "numbering"):
        print(f"{where}: {name}: {1e6 * figures[name] / count:.1f} us per event")
    print(f"{where}: after: {figures['blocks of after']:.0f} blocks for 100 events")
    return figures


def _entry(number: int) -> Any:
    from controlplane.events import log
    from overrides.event_types import PROJECT_CREATED

    return log.Entry(PROJECT_CREATED, "project", f"p{number}", {"project": f"p{number}"}, "benchmark")


def _backend_seconds() -> float:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pid = cursor.fetchone()[0]
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _blocks(after: int) -> int:
    from django.db import connection

    query = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM events_event WHERE seq > %s"
    with connection.cursor() as cursor:
        cursor.execute(f"{query} ORDER BY seq LIMIT 100", [after])
        plan = cursor.fetchone()[0][0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


if __name__ == "__main__":
    main()
