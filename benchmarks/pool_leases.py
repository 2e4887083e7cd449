"""`python -m benchmarks.pool_leases`: leases of pools, beside SADD and SREM of Valkey.

It starts Postgres, Valkey and NATS of its own with durable storage, and removes all of it at the end.
`--write` puts the table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

import django

from benchmarks import table
from benchmarks.machine import description
from benchmarks.stage import Stage, stage
from benchmarks.table import Row

Work = Callable[[int, int], None]
APPLICATION = "controlplane.asgi:application"
# Pairs of each connection before the clock starts: workers connect to the database with their first request.
_WARM_UP = 20


@dataclass(slots=True)
class Measured:
    """Pairs of an acquisition and a release. seconds: of each pair."""

    pairs: int = 0
    duration: float = 0.0
    seconds: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return self.pairs / self.duration

    def percentile(self, share: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000

    def row(self, work: str, *, ratio: str = "", target: str = "", errors: str = "") -> Row:
        p50, p99 = (f"{self.percentile(share):.1f}" for share in (0.5, 0.99))
        return Row(work, f"{self.rate:,.0f}", p50, p99, ratio=ratio, target=target, errors=errors)


def main() -> int:
    options = _options()
    print(f"{description()}.", flush=True)
    with stage({}) as running:
        os.environ.update(running.environment)
        django.setup()
        rows = [*_in_process(options), *_by_http(running, options)]
    text = table.markdown(rows)
    print(text)
    if options.write:
        table.write(f"{_preface(options)}\n\n{text}", part="pools")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=4_000, help="of each contender in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--batch", type=int, default=500, help="operations of a batch")
    parser.add_argument("--rate", type=int, default=100, help="pairs per second by HTTP")
    parser.add_argument("--seconds", type=float, default=15.0, help="by HTTP")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    return parser.parse_args()


def _in_process(options: argparse.Namespace) -> list[Row]:
    contenders = _contenders(options)
    results: dict[str, list[Measured]] = {name: [] for name in contenders}
    for _ in range(options.rounds):
        for name, measure in contenders.items():
            results[name].append(measure())
    middle = {name: sorted(each, key=lambda one: one.rate)[len(each) // 2] for name, each in results.items()}

    def ratio(name: str) -> str:
        rates = [mine.rate / peer.rate for mine, peer in zip(results[name], results["valkey"], strict=True)]
        return f"{median(rates):.2f} of Valkey"

    threads = f"{options.threads} threads"
    return [
        middle["valkey"].row(f"SADD and SREM of Valkey, {threads}"),
        middle["one"].row(
            f"lease and release, one pool, {threads}", ratio=ratio("one"), target="p99 < 20 ms"
        ),
        middle["hundred"].row(f"lease and release, 100 pools, {threads}", ratio=ratio("hundred")),
        middle["batches"].row(
            f"batches of {options.batch}, one pool, one thread", ratio=ratio("batches"), target=">= 5,000/s"
        ),
    ]


def _contenders(options: argparse.Namespace) -> dict[str, Callable[[], Measured]]:
    import redis
    from django.conf import settings

    from controlplane.pools import leasing
    from controlplane.pools.models import Pool
    from controlplane.pools.operations import Acquire, Granted, Release
    from controlplane.scopes import Scope

    pools = [Pool.objects.create(name=f"bench-{number}", capacity=1_000_000) for number in range(100)]
    scopes = [Scope("production", f"project-{number}") for number in range(20)]
    valkey = redis.Redis.from_url(settings.REDIS_URL)

    def lease(pool: Pool, token: str, scope: Scope) -> None:
        granted = leasing.run(pool.id, Acquire(token, scope))
        assert isinstance(granted, Granted)
        leasing.run(pool.id, Release(granted.lease.id))

    def one_pool(thread: int, turn: int) -> None:
        lease(pools[0], f"{thread}-{turn}", scopes[turn % 20])

    def hundred_pools(thread: int, turn: int) -> None:
        lease(pools[(thread * 7 + turn) % 100], f"{thread}-{turn}", scopes[turn % 20])

    def peer(thread: int, turn: int) -> None:
        valkey.sadd("bench", f"{thread}-{turn}")
        valkey.srem("bench", f"{thread}-{turn}")

    def batches() -> Measured:
        measured, began = Measured(), time.perf_counter()
        while measured.pairs < options.pairs:
            started = time.perf_counter()
            asked = [Acquire(f"b{measured.pairs + n}", scopes[n % 20]) for n in range(options.batch)]
            granted = leasing.run_operations(pools[0].id, asked)
            ids = [result.lease.id for result in granted if isinstance(result, Granted)]
            leasing.run_operations(pools[0].id, [Release(lease_id) for lease_id in ids])
            measured.pairs += len(ids)
            measured.seconds.append(time.perf_counter() - started)
        measured.duration = time.perf_counter() - began
        return measured

    return {
        "one": lambda: _by_threads(one_pool, options),
        "hundred": lambda: _by_threads(hundred_pools, options),
        "valkey": lambda: _by_threads(peer, options),
        "batches": batches,
    }


def _by_threads(work: Work, options: argparse.Namespace) -> Measured:
    """Run pairs in threads; each connects to the database before the clock starts."""
    from django.db import connection

    measured, lock = Measured(), threading.Lock()
    turns, start = options.pairs // options.threads, threading.Barrier(options.threads + 1)

    def run(thread: int) -> None:
        connection.ensure_connection()
        work(thread, -1)
        start.wait()
        seconds = []
        for turn in range(turns):
            began = time.perf_counter()
            work(thread, turn)
            seconds.append(time.perf_counter() - began)
        with lock:
            measured.seconds += seconds
        connection.close()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(options.threads)]
    for thread in threads:
        thread.start()
    start.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    measured.duration, measured.pairs = time.perf_counter() - began, turns * options.threads
    return measured


def _by_http(running: Stage, options: argparse.Namespace) -> list[Row]:
    """Pairs at a fixed rate, each request of its own."""
    server = running.serve("web", APPLICATION)
    token, failed = _token(), 0
    measured, lock = Measured(), threading.Lock()
    clients = 8
    pause, start = clients / options.rate, threading.Barrier(clients + 1)

    def run(client: int) -> None:
        nonlocal failed
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        for turn in range(_WARM_UP):
            _pair(connection, token, f"warm-{client}-{turn}")
        start.wait()
        # Spread evenly: pairs that always begin together would measure each other.
        time.sleep(client * pause / clients)
        next_at, until, turn = time.perf_counter(), time.perf_counter() + options.seconds, 0
        while time.perf_counter() < until:
            began = time.perf_counter()
            is_fine = _pair(connection, token, f"{client}-{turn}")
            with lock:
                measured.pairs += 1
                measured.seconds.append(time.perf_counter() - began)
                failed += not is_fine
            turn, next_at = turn + 1, next_at + pause
            time.sleep(max(0.0, next_at - time.perf_counter()))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    start.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    measured.duration = time.perf_counter() - began
    work = f"two requests by HTTP, {options.rate} pairs/s offered"
    return [measured.row(work, errors=str(failed), target="p99 < 100 ms for both")]


def _pair(connection: http.client.HTTPConnection, token: str, name: str) -> bool:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    path = "/api/v1/pools/bench-0/leases"
    connection.request("POST", path, json.dumps({"token": name, "scope": {"project": "p"}}), headers)
    response = connection.getresponse()
    body = response.read()
    if response.status != http.HTTPStatus.CREATED:
        return False
    connection.request("DELETE", f"{path}/{json.loads(body)['id']}", headers=headers)
    response = connection.getresponse()
    response.read()
    return response.status == http.HTTPStatus.NO_CONTENT


def _token() -> str:
    from controlplane.access import principals, role_bindings
    from controlplane.access.models import PrincipalKind
    from controlplane.identity.actors import system
    from controlplane.identity.roles import Role
    from controlplane.scopes import Scope

    actor = system("benchmark")
    service = principals.create_principal("bench", kind=PrincipalKind.SERVICE, actor=actor)
    role_bindings.bind_role(service, Role.OPERATOR, Scope(), actor=actor)
    return principals.create_token(service, name="bench", expires_at=None, actor=actor)[1]


def _preface(options: argparse.Namespace) -> str:
    return (
        f"{description()}. Medians of {options.rounds} rounds of {options.pairs:,} pairs; times are"
        " of a pair, and of a\nwhole batch. Postgres writes to disk before it confirms; Valkey does not."
    )


if __name__ == "__main__":
    sys.exit(main())
