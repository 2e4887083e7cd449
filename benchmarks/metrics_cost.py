"""`python -m benchmarks.metrics_cost`: what a scrape of a big fleet costs, and what metrics cost requests.

Two servers in one run, with and without metrics, asked one after the other in each round; the ratio is that
of the processor time per answer, which a shared machine disturbs less than rates.
"""

from __future__ import annotations

import argparse
import http.client
import os
import sys
import time
import timeit
from collections.abc import Iterator, Sequence
from statistics import median

import django

from benchmarks import fleet, rounds, table
from benchmarks.machine import CPUS, description, seconds_of
from benchmarks.rounds import Contender
from benchmarks.stage import Server, Stage, stage
from benchmarks.table import Row

_ENVIRONMENT = {"FLEET_GUARD_PERCENT": "101", "LEASE_SECONDS": "86400", "HEARTBEATS_PER_SECOND": "1000000"}
_BEATING, _CONNECTIONS, _TIMES = 5_000, 32, 15
_READ = "/api/v1/overrides/effective?project=flytesnacks&domain=development"
# As a fleet that is connected to NATS has it.
_MESSAGING = """
INSERT INTO registry_agentmessaging (agent_id, has_consumer) SELECT id, true FROM registry_agent
ON CONFLICT DO NOTHING
"""


def main() -> int:
    options = _options()
    print(f"{description()}. Loading {options.agents:,} agents ...", flush=True)
    with stage(_ENVIRONMENT, processors=CPUS) as running:
        os.environ.update(running.environment)
        django.setup()
        beating = fleet.load(running.environment["DATABASE_URL"], options.agents, _BEATING)
        _fill()
        rows = [*_collectors(running), *_counting()]
        if not options.figures:
            running.manage("seed_demo")
            token = running.administrator()
            rows += _scrapes(running, token)
            rows += _prices(running, token, [agent.request() for agent in beating], options)
    preface = f"{description()}. {options.agents:,} agents"
    preface += "." if options.figures else f"; {options.rounds} rounds of {options.seconds:g} s."
    text = f"{preface}\n\n{table.markdown(rows)}"
    print(text)
    if options.write:
        table.write(text, "metrics")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each contender in each round")
    parser.add_argument("--figures", action="store_true", help="no servers: the figures and counting alone")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    return parser.parse_args()


def _fill() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute(_MESSAGING)
        cursor.execute("VACUUM ANALYZE registry_agentmessaging")


def _collectors(running: Stage) -> Iterator[Row]:
    """The time of all figures of the database, and of those that take longest."""
    from controlplane.observability.metrics import _COLLECTORS

    times: dict[str, list[float]] = {type(collector).__name__: [] for collector in _COLLECTORS}
    used = seconds_of([running.postgres])
    for _ in range(_TIMES):
        for collector in _COLLECTORS:
            began = time.perf_counter()
            list(collector.collect())
            times[type(collector).__name__].append((time.perf_counter() - began) * 1000)
    used = (seconds_of([running.postgres]) - used) / _TIMES
    totals = sorted(map(sum, zip(*times.values(), strict=True)))
    yield Row(
        "figures of the database",
        "",
        f"{median(totals):.1f}",
        f"{totals[-1]:.1f}",
        cpu=f"database: {used * 1e6:,.0f}",
        target="<= 200,000 µs of the database",
    )
    for name, measured in sorted(times.items(), key=lambda item: -median(item[1]))[:4]:
        yield Row(f"of them, {name}", "", f"{median(measured):.1f}", f"{max(measured):.1f}")


def _counting() -> Iterator[Row]:
    """The processor time of counting alone, in this process, which counts in files as a web worker does."""
    from prometheus_client.values import ValueClass

    from controlplane.access import auth_metrics
    from controlplane.observability import metrics
    from controlplane.observability.request_labels import class_of, labels_of, timed_route
    from controlplane.web.connection_metrics import ConnectionUse
    from controlplane.web.request_metrics import RequestMetrics

    assert ValueClass._multiprocess
    fast, connections = RequestMetrics("api/v1/overrides/effective"), ConnectionUse("bench", 4)
    fast._is_scheduled = connections._is_scheduled = True  # no event loop runs here

    def ordinary() -> None:
        method, route = labels_of("GET", "api/v1/me", 200)
        metrics.REQUESTS.labels(method, route, class_of(200)).inc()
        metrics.DURATION.labels(method, timed_route(route)).observe(0.001)
        auth_metrics.note_known_token(0.0002)
        connections.begin()
        connections.end()
        connections.wait(0.001)

    def by_fast_path() -> None:
        fast.record_response("GET", 200, 0.001)
        fast.count("ready")
        connections.wait(0.001)

    for name, count in (("an ordinary request", ordinary), ("a request of a fast path", by_fast_path)):
        spent = min(timeit.repeat(count, number=2_000, repeat=7, timer=time.process_time)) / 2_000
        yield Row(f"counting of {name}, alone", "", cpu=f"{spent * 1e6:.1f}")


def _scrapes(running: Stage, token: str) -> Iterator[Row]:
    for name, seconds in (("read again", "0"), ("at most 5 s old", "5")):
        server = running.serve(
            f"scrapes-{seconds}", "controlplane.asgi:application", workers=1, METRICS_CACHE_SECONDS=seconds
        )
        times = sorted(_scrape(server, token) for _ in range(_TIMES))
        yield Row(f"GET /metrics, figures {name}", "", f"{median(times):.1f}", f"{times[-1]:.1f}")
    running.stop_servers()


def _scrape(server: Server, token: str) -> float:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    began = time.perf_counter()
    connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 200, answer.status
    return (time.perf_counter() - began) * 1000


def _prices(running: Stage, token: str, beats: Sequence[bytes], options: argparse.Namespace) -> Iterator[Row]:
    on = running.serve("on", "controlplane.asgi:application", workers=1)
    off = running.serve("off", "benchmarks.peers.unmetered:application", workers=1)
    head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n"
    requests = {
        "heartbeat": beats,
        "effective read": [f"GET {_READ} HTTP/1.1\r\n{head}".encode()],
        "ordinary request (GET /api/v1/me)": [f"GET /api/v1/me HTTP/1.1\r\n{head}".encode()],
    }
    for name, sent in requests.items():
        pair = [
            Contender(name, server.port, sent, _CONNECTIONS, (server.process.pid,), (running.postgres,))
            for server in (on, off)
        ]
        rounds.play(pair, rounds=options.rounds, seconds=options.seconds, warm_up=0.5, repeats=1)
        yield from _price(name, *pair)
    running.stop_servers()


def _price(name: str, on: Contender, off: Contender) -> Iterator[Row]:
    times = [(ours.web, theirs.web) for ours, theirs in zip(on.results, off.results, strict=True)]
    shares = sorted(ours / theirs for ours, theirs in times)
    for label, contender in (("", on), (", without metrics", off)):
        measured = rounds.merged(contender)
        web, database = rounds.processor(contender)
        yield Row(
            f"{name}{label}",
            f"{rounds.rate(contender):,.0f}",
            f"{measured.percentile(0.5):.1f}",
            f"{measured.percentile(0.99):.1f}",
            cpu=f"{web:.0f} + {database:.0f}",
            errors=str(measured.errors),
            ratio="" if label else f"{median(shares):.3f} x web CPU ({shares[0]:.3f}–{shares[-1]:.3f})",
            target="" if label else "<= 1.03 x",
        )


if __name__ == "__main__":
    sys.exit(main())
