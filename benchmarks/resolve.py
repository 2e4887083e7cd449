"""`python -m benchmarks.resolve`: effective reads, warm, cold and many at once, against what limits them.

It starts Postgres, Valkey and NATS of its own with durable storage, loads the data, and removes all of it at
the end. `--write` puts the table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import sys
import time
from dataclasses import dataclass
from statistics import median
from typing import Any
from urllib.parse import urlencode

import django

from benchmarks import apply, database, rounds, table
from benchmarks.dataset import Dataset, load
from benchmarks.freshness import stale_reads
from benchmarks.machine import description, memory_of
from benchmarks.rounds import Contender
from benchmarks.stage import WORKERS, Server, Stage, stage
from benchmarks.table import Row
from benchmarks.writers import writing

HOT = 48
COLD = 90_000
BATCH = 1000
_ROUTE = "/api/v1/overrides/effective"


@dataclass(slots=True)
class Bench:
    running: Stage
    dataset: Dataset
    token: str
    ours: Server
    bare: Server
    plain: Server
    rounds: int
    seconds: float

    def request(self, number: int, path: str = _ROUTE, **headers: str) -> bytes:
        """A read of a workflow's effective values, as bytes."""
        project, domain, workflow = self.dataset.workflow(number)
        query = urlencode({"project": project, "domain": domain, "workflow": workflow})
        head = {"Host": "127.0.0.1", "Authorization": f"Bearer {self.token}", **headers}
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in head.items())
        return f"GET {path}?{query} HTTP/1.1\r\n{lines}\r\n".encode()

    def contender(
        self, name: str, server: Server, requests: list[bytes], connections: int, **more: Any
    ) -> Contender:
        web, postgres = (server.process.pid,), (self.running.postgres,)
        return Contender(name, server.port, requests, connections, web, postgres, **more)

    def hot(self) -> list[bytes]:
        return [self.request(number) for number in range(HOT)]


def main() -> int:
    options = _options()
    print(f"{description()}. Loading {options.rows:,} rows ...", flush=True)
    with stage() as running:
        os.environ.update(running.environment)
        django.setup()
        began = time.perf_counter()
        dataset = load(running.environment["DATABASE_URL"], options.rows, distinct=options.distinct)
        print(f"{dataset.rows:,} rows in {time.perf_counter() - began:.0f} s.", flush=True)
        bench = _open(running, dataset, options)
        rows: list[Row] = []
        for name in options.only or _PARTS:
            print(f"{name} ...", flush=True)
            rows += _PARTS[name](bench)
    text = table.markdown(rows)
    print(text)
    if options.write:
        table.write(f"{_preface(options, dataset)}\n\n{text}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each contender in each round")
    parser.add_argument("--distinct", action="store_true", help="no two documents of a type are equal")
    parser.add_argument("--only", nargs="*", choices=list(_PARTS), help="parts to run; all by default")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    return parser.parse_args()


def _open(running: Stage, dataset: Dataset, options: argparse.Namespace) -> Bench:
    token = running.administrator()
    ours = running.serve("ours", "controlplane.asgi:application")
    bench = Bench(running, dataset, token, ours, ours, ours, options.rounds, options.seconds)
    file = running.folder / "answers.json"
    file.write_text(json.dumps(_answers(bench)))
    bench.bare = running.serve("bare", "benchmarks.peers.memory:application", BENCH_ANSWERS=str(file))
    bench.plain = running.serve_by_granian(
        "plain",
        "benchmarks.peers.wsgi:application",
        *("--interface", "wsgi", "--blocking-threads", "4", "--backpressure", "512"),
        DJANGO_SETTINGS_MODULE="benchmarks.peers.settings",
    )
    return bench


def _answers(bench: Bench) -> dict[str, Any]:
    """Headers and body of each hot answer, for the bare server to repeat."""
    answers = {}
    for request in bench.hot():
        answer, body = _exchange(bench, request)
        drop = ("date", "server", "connection")
        headers = [(k.lower(), v) for k, v in answer.getheaders() if k.lower() not in drop]
        answers[request.partition(b"?")[2].partition(b" ")[0].decode()] = (headers, body.decode())
    return answers


def _exchange(bench: Bench, request: bytes) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", bench.ours.port, timeout=30)
    connection.connect()
    connection.sock.sendall(request)
    answer = http.client.HTTPResponse(connection.sock, method="GET")
    answer.begin()
    body = answer.read()
    connection.close()
    return answer, body


def warm(bench: Bench) -> list[Row]:
    """B4 and B5, and the same as 304."""
    rows: list[Row] = []
    for connections, target in ((256, ">= 0.70"), (32, ">= 0.42")):
        bare = bench.contender("the same bytes from memory", bench.bare, bench.hot(), connections)
        ours = bench.contender("effective, warm", bench.ours, bench.hot(), connections)
        etags = [_exchange(bench, bench.request(number))[0].headers["ETag"] for number in range(HOT)]
        held = [bench.request(number, If_None_Match=etag) for number, etag in enumerate(etags)]
        unchanged = bench.contender("effective, 304", bench.ours, held, connections, status=304)
        django = bench.contender(
            "Django alone, every request", bench.ours, _past_the_fast_path(bench), connections
        )
        rounds.play([bare, ours, unchanged, django], rounds=bench.rounds, seconds=bench.seconds)
        rows += [
            _row(bare),
            _row(ours, f"{rounds.ratio(ours, bare):.2f} of memory", target),
            _row(unchanged, f"{rounds.ratio(unchanged, bare):.2f} of memory"),
            _row(django, f"{rounds.ratio(ours, django):.0f} x slower"),
        ]
    memory = memory_of([bench.ours.process.pid]) / 2**20
    rows.append(Row(f"resident memory, {WORKERS} workers and their parent", f"{memory:.0f} MiB"))
    return rows


def _past_the_fast_path(bench: Bench) -> list[bytes]:
    return [request.replace(b" HTTP/1.1", b"&strategy=native HTTP/1.1") for request in bench.hot()]


def while_written(bench: Bench) -> list[Row]:
    """B4 while workflow-level writes land."""
    quiet = bench.contender("effective, warm, no writes", bench.ours, bench.hot(), 256)
    environment = bench.running.environment
    busy = [
        bench.contender(
            f"effective, warm, {number} writes/s",
            bench.ours,
            bench.hot(),
            256,
            beside=writing(environment, bench.dataset, number),
        )
        for number in (10, 100)
    ]
    rounds.play([quiet, *busy], rounds=bench.rounds, seconds=bench.seconds)
    targets = (">= 0.9", ">= 0.55")
    return [
        _row(quiet),
        *(
            _row(contender, f"{rounds.ratio(contender, quiet):.2f} of no writes", target)
            for contender, target in zip(busy, targets, strict=True)
        ),
    ]


def fresh(bench: Bench) -> list[Row]:
    reads, stale = stale_reads(bench.ours.port, bench.token, rounds=60, traffic=bench.hot())
    return [
        Row(
            "reads after an acknowledged write, on every worker",
            f"{reads:,} reads",
            errors=f"{stale} stale",
            target="0",
        )
    ]


def cold(bench: Bench) -> list[Row]:
    """B6: every request asks for another scope; Postgres alone runs the same statement."""
    number = min(COLD, bench.dataset.workflows)
    numbers = [bench.request(number) for number in range(HOT, number)]
    ours = bench.contender("effective, cold", bench.ours, numbers, 32, cold=True)
    plain = bench.contender("plain DRF view, one statement", bench.plain, numbers, 32)
    orm = bench.contender(
        "plain DRF view, ORM, one query for each type",
        bench.plain,
        [number.replace(_ROUTE.encode(), b"/orm", 1) for number in numbers],
        32,
    )
    url, alone = bench.running.environment["DATABASE_URL"], []
    for _ in range(bench.rounds):
        rounds.play([ours, plain, orm], rounds=1, seconds=bench.seconds, warm_up=0.5)
        alone.append(
            database.rate(
                url, bench.dataset.projects, bench.running.folder, clients=32, seconds=int(bench.seconds)
            )
        )
    share = median(result.measured.rate / rate for result, rate in zip(ours.results, alone, strict=True))
    return [
        Row("the same statement, pgbench, 32 clients", f"{median(alone):,.0f}"),
        _row(ours, f"{share:.2f} of pgbench", ">= 0.3"),
        _row(plain, f"{rounds.ratio(ours, plain):.1f} x slower"),
        _row(orm, f"{rounds.ratio(ours, orm):.1f} x slower", ">= 10 x"),
    ]


def batch(bench: Bench) -> list[Row]:
    """B7: 1,000 scopes in one request, with the source of every value and without."""
    return [_batch(bench, explain=True), _batch(bench, explain=False)]


def _batch(bench: Bench, *, explain: bool) -> Row:
    took = []
    for number in range(bench.rounds + 1):
        places = [bench.dataset.workflow(random.randrange(bench.dataset.workflows)) for _ in range(BATCH)]
        scopes = [dict(zip(("project", "domain", "workflow"), place, strict=True)) for place in places]
        body = {"scopes": scopes, "explain": explain}
        seconds = apply.timed_post(bench.ours.port, bench.token, f"{_ROUTE}:batch", body)
        took += [seconds] if number else []
    what = "with sources" if explain else "values alone"
    return Row(f"batch of {BATCH:,} scopes, {what}", f"{median(took):.2f} s", target="<= 0.5 s")


def applied(bench: Bench) -> list[Row]:
    """B10."""
    return apply.rows(bench.running, bench.ours, bench.token, bench.dataset, bench.rounds)


def _row(contender: Contender, ratio: str = "", target: str = "") -> Row:
    whole = rounds.merged(contender)
    web, postgres = rounds.processor(contender)
    return Row(
        f"{contender.name}, {contender.connections} connections",
        f"{rounds.rate(contender):,.0f}",
        f"{whole.percentile(0.5):.1f}",
        f"{whole.percentile(0.99):.1f}",
        f"{web:.0f} + {postgres:.0f}",
        str(whole.errors),
        ratio,
        target,
    )


def _preface(options: argparse.Namespace, dataset: Dataset) -> str:
    return (
        f"{description()}. {dataset.rows:,} overrides in {dataset.projects:,} projects, {WORKERS} workers; "
        f"{options.rounds} interleaved rounds of {options.seconds:g} s; servers and database share all cores "
        "but the last, which the client has."
    )


_PARTS = {
    "warm": warm,
    "writes": while_written,
    "fresh": fresh,
    "cold": cold,
    "batch": batch,
    "apply": applied,
}

if __name__ == "__main__":
    sys.exit(main())
