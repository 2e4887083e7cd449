"""`python -m benchmarks.disk`: bytes that events and heartbeats leave on the disk and in the write-ahead log.

Tables are measured with their indexes; the log of Postgres, which standbys and archives get, by its position.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sys
from dataclasses import dataclass
from typing import Any

import django
import psycopg

from benchmarks import fleet, table
from benchmarks.machine import description
from benchmarks.stage import Stage, stage

_BATCH = 100
_BEATS = {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}
_ENVIRONMENT = {"FLEET_GUARD_PERCENT": "101", "LEASE_SECONDS": "86400", "HEARTBEATS_PER_SECOND": "1000000"}
Session = psycopg.Connection[Any]


@dataclass(frozen=True, slots=True)
class Left:
    """What one of them leaves, in bytes."""

    name: str
    tables: float
    log: float

    def cells(self) -> tuple[str, ...]:
        a_day = self.log * 86_400 * 100 / 1e9
        return (self.name, f"{self.tables:,.0f}", f"{self.log:,.0f}", f"{a_day:.1f} GB")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--agents", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=10, help="heartbeats of each agent")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    options = parser.parse_args()
    with stage(_ENVIRONMENT) as running:
        os.environ.update(running.environment)
        django.setup()
        url = running.environment["DATABASE_URL"]
        agents = fleet.load(url, options.agents, options.agents)
        with psycopg.connect(url, autocommit=True) as session:
            rows = [_events(session, options.events), _heartbeats(session, running, agents, options.rounds)]
    text = f"{description()}.\n\n{_markdown(rows)}"
    print(text)
    if options.write:
        table.write(text, "disk")
    return 0


def _events(session: Session, count: int) -> Left:
    from django.db import transaction

    from controlplane.events import log
    from overrides.event_types import PROJECT_CREATED

    size, position = _size(session, "events_event"), _position(session)
    for start in range(0, count, _BATCH):
        with transaction.atomic():
            log.append_each(
                [
                    log.Entry(
                        PROJECT_CREATED, "project", f"p{number}", {"project": f"p{number}"}, "benchmark"
                    )
                    for number in range(start, start + _BATCH)
                ]
            )
        log.number_committed()
    tables = (_size(session, "events_event") - size) / count
    return Left("event, in batches of a hundred", tables, (_position(session) - position) / count)


def _heartbeats(session: Session, running: Stage, agents: list[fleet.Beating], rounds: int) -> Left:
    server = running.serve("disk", "controlplane.asgi:application", workers=1)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    headers = {"Authorization": f"Bearer {running.administrator()}", "Content-Type": "application/json"}

    def beat() -> None:
        for start in range(0, len(agents), _BATCH):
            items = [{"agent_id": str(one.agent), **_BEATS} for one in agents[start : start + _BATCH]]
            connection.request("POST", "/api/v1/agents:heartbeat", json.dumps({"items": items}), headers)
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            answer.read()

    # The first change of a page after a checkpoint writes the whole page.
    beat()
    size, position = _size(session, "registry_lease"), _position(session)
    for _ in range(rounds):
        beat()
    count = rounds * len(agents)
    tables = (_size(session, "registry_lease") - size) / count
    return Left("heartbeat, in batches of a hundred", tables, (_position(session) - position) / count)


def _size(session: Session, name: str) -> int:
    """Return the bytes of a table, its partitions and their indexes."""
    statement = "SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree(%s::regclass)"
    (size,) = session.execute(statement, (name,)).fetchone() or (0,)
    if not size:
        (size,) = session.execute("SELECT pg_total_relation_size(%s::regclass)", (name,)).fetchone() or (0,)
    return int(size)


def _position(session: Session) -> int:
    (position,) = session.execute("SELECT pg_current_wal_insert_lsn() - '0/0'").fetchone() or (0,)
    return int(position)


def _markdown(rows: list[Left]) -> str:
    head = ("What", "bytes in tables", "bytes in the log of Postgres", "of that in a day, at 100 a second")
    lines = [head, tuple("---" for _ in head), *(row.cells() for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


if __name__ == "__main__":
    sys.exit(main())
