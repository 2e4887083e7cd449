"""The sweep of a large lease table: by itself, against one statement, and beside heartbeats."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from statistics import median

import psycopg

from benchmarks import load
from benchmarks.rounds import Contender
from benchmarks.table import Row

_TRIES = 3
# Agents that fall silent: none of them may be among those that the client beats for.
MOST = 100_000
# What a sweep does, in one statement that holds every row until its end.
_ONE_STATEMENT = """
WITH due AS (
    SELECT agent_id, state FROM registry_lease
    WHERE expires_at < now() AND state IN ('ready', 'congested') FOR UPDATE
), moved AS (
    UPDATE registry_agent AS agent SET state = 'unavailable', state_reason = 'silent', state_since = now()
    FROM due WHERE agent.id = due.agent_id AND agent.state = due.state RETURNING agent.*
)
INSERT INTO events_event
    (id, type, object_type, object_id, domain, project, workflow, launch_plan, actor, request_id, data)
SELECT gen_random_uuid(), 'agent.unavailable', 'agent', id::text, '', '', '', '', 'bench', '',
    jsonb_build_object(
        'agent_id', id, 'name', name, 'environment', environment, 'from', 'ready', 'reason', 'x')
FROM moved
"""
_LEASES_ALONE = """
UPDATE registry_lease SET state = 'unavailable'
WHERE expires_at < now() AND state IN ('ready', 'congested')
"""


def by_itself(url: str) -> list[Row]:
    """B8: nothing due, a thousand, a hundred thousand."""
    rows = []
    for due in (0, 1000, MOST):
        leases = _timed(url, due, lambda: _execute(url, _LEASES_ALONE))
        whole = _timed(url, due, lambda: _execute(url, _ONE_STATEMENT))
        ours = _timed(url, due, partial(_sweep, due))
        rows += [
            Row(f"one UPDATE of the leases alone, {due:,} due", f"{leases * 1000:,.0f} ms"),
            Row(f"one statement for leases, agents and events, {due:,} due", f"{whole * 1000:,.0f} ms"),
            Row(
                f"sweep, {due:,} due",
                f"{ours * 1000:,.0f} ms",
                ratio=f"{ours / whole:.2f} x one statement",
                target="<= 1.6 x" if due else "<= 2 x",
            ),
        ]
    return rows


def beside_heartbeats(url: str, quiet: Contender, seconds: float) -> list[Row]:
    """Heartbeats at 256 connections, without and with sweeps of 100,000 due."""
    calm = load.run(quiet.load(seconds, 1.0))
    with _due(url, MOST), _steps() as steps:
        sweeping = threading.Thread(target=_sweep)
        running = load.Running(quiet.load(seconds, 1.0))
        time.sleep(1.5)
        began = time.perf_counter()
        sweeping.start()
        sweeping.join()
        took = time.perf_counter() - began
        busy = running.result()
    ratio = busy.percentile(0.99) / max(0.001, calm.percentile(0.99))
    return [
        Row("heartbeats, no sweep", f"{calm.rate:,.0f}", *_percentiles(calm), errors=str(calm.errors)),
        Row(
            "heartbeats, while 100,000 are swept",
            f"{busy.rate:,.0f}",
            *_percentiles(busy),
            errors=str(busy.errors),
            ratio=f"p99 {ratio:.2f} x",
            target="<= 1.3 x",
        ),
        Row("that sweep", f"{took * 1000:,.0f} ms", ratio=f"longest step {max(steps) * 1000:.0f} ms"),
    ]


def _percentiles(measured: load.Measured) -> tuple[str, str]:
    return f"{measured.percentile(0.5):.1f}", f"{measured.percentile(0.99):.1f}"


def _timed(url: str, due: int, work: Callable[[], object]) -> float:
    took = []
    for _ in range(_TRIES):
        with _due(url, due):
            began = time.perf_counter()
            work()
            took.append(time.perf_counter() - began)
    return median(took)


@contextmanager
def _due(url: str, count: int) -> Iterator[None]:
    """So many silent agents, none of them among those that the client beats for; put back afterwards."""
    _execute(url, f"UPDATE registry_lease SET expires_at = now() - interval '1 h' WHERE {_LAST} {count})")
    _execute(url, "VACUUM ANALYZE registry_lease")
    _execute(
        url, "UPDATE registry_sweeprecord SET last_sweep_at = now(), reachable_since = now() - interval '2 d'"
    )
    try:
        yield
    finally:
        _execute(
            url,
            "UPDATE registry_lease SET state = 'ready', expires_at = now() + interval '1 d'"
            f" WHERE {_LAST} {count})",
        )
        _execute(
            url, f"UPDATE registry_agent SET state = 'ready' WHERE {_LAST.replace('agent_id', 'id')} {count})"
        )
        for name in ("registry_lease", "registry_agent", "events_event"):
            _execute(url, f"VACUUM {name}")


_LAST = "agent_id IN (SELECT agent FROM bench_fleet ORDER BY n DESC LIMIT"


@contextmanager
def _steps() -> Iterator[list[float]]:
    """How long each transaction of the sweep takes, in seconds."""
    from registry.sweep import sweep  # Django must be set up

    real, took = sweep._step, [0.0]

    def step(blocks: tuple[int, int], policy: object) -> tuple[int, int]:
        began = time.perf_counter()
        try:
            return real(blocks, policy)  # type: ignore[arg-type]
        finally:
            took.append(time.perf_counter() - began)

    sweep._step = step
    try:
        yield took
    finally:
        sweep._step = real


def _sweep(due: int = MOST) -> None:
    """Raises RuntimeError if not all that are due were marked."""
    from registry.sweep.sweep import sweep_leases

    marked = sweep_leases()
    if marked != due:
        raise RuntimeError(f"{marked} of {due} were marked")


def _execute(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)
