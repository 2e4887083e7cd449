"""`python -m benchmarks.pause_trigger`: what it costs that every change asks whether changes are paused.

One connection sends statements like the application, with the trigger and without it in turns. Figures
are processor time of the Postgres backend in microseconds per statement, from /proc.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import django
import psycopg

from benchmarks import fleet, table
from benchmarks.machine import description
from benchmarks.stage import stage
from controlplane.installation.refusing_triggers import NAME

_AGENTS = 1_000
_BATCH = 100
Session = psycopg.Connection[Any]


@dataclass(frozen=True, slots=True)
class Work:
    """statements: of each way in a round."""

    name: str
    relation: str
    run: Callable[[Session, int], None]
    statements: int


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds of a statement."""

    name: str
    without: float
    with_trigger: float

    def cells(self) -> tuple[str, ...]:
        more = self.with_trigger - self.without
        share = f"{more:+.1f} µs, {more / self.without:+.1%}"
        return (self.name, f"{self.without:.1f}", f"{self.with_trigger:.1f}", share)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    options = parser.parse_args()
    with stage() as running:
        os.environ.update(running.environment)
        django.setup()
        url = running.environment["DATABASE_URL"]
        fleet.load(url, _AGENTS, _AGENTS)
        with psycopg.connect(url, autocommit=True) as session:
            session.execute(
                "INSERT INTO overrides_project (id, name, description) VALUES ('benchmark', 'benchmark', '')"
            )
            costs = [_compare(session, work, options.rounds) for work in _WORK]
    text = f"{description()}.\n\n{_markdown(costs)}"
    print(text)
    if options.write:
        table.write(text, "pause")
    return 0


def _beat(session: Session, number: int) -> None:
    session.execute(
        "UPDATE registry_lease SET renewed_at = now(), expires_at = now() + interval '90 s' WHERE agent_id IN"
        " (SELECT agent_id FROM registry_lease ORDER BY agent_id OFFSET %s LIMIT %s)",
        (number * _BATCH % _AGENTS, _BATCH),
    )


def _touch(session: Session, number: int) -> None:
    session.execute("UPDATE overrides_project SET name = %s WHERE id = 'benchmark'", (f"n{number}",))


_WORK = (
    Work(f"heartbeats of {_BATCH} agents in one statement", "registry_lease", _beat, 100),
    Work("one row by its key", "overrides_project", _touch, 1_000),
)


def _compare(session: Session, work: Work, rounds: int) -> Cost:
    figures: dict[str, list[float]] = {"DISABLE": [], "ENABLE": []}
    for turn in range(rounds + 1):
        for way in sorted(figures, reverse=bool(turn % 2)):
            session.execute(f"ALTER TABLE {work.relation} {way} TRIGGER {NAME}")
            before = _seconds(session)
            for number in range(work.statements):
                work.run(session, number)
            # The first round warms up.
            figures[way] += [1e6 * (_seconds(session) - before) / work.statements] if turn else []
    return Cost(work.name, median(figures["DISABLE"]), median(figures["ENABLE"]))


def _seconds(session: Session) -> float:
    path = Path(f"/proc/{session.info.backend_pid}/schedstat")
    return int(path.read_text().split()[0]) / 1e9


def _markdown(costs: list[Cost]) -> str:
    head = ("Statement", "µs without", "µs with", "difference")
    lines = [head, tuple("---" for _ in head), *(cost.cells() for cost in costs)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


if __name__ == "__main__":
    sys.exit(main())
