"""`python -m benchmarks.ordinary`: what an ordinary authenticated GET costs, with 32 connections.

The server has one worker for each processor, as in production; then one worker with more and more threads,
which share the interpreter's lock; then the middlewares, one by one, in this process without a server.
It ends within two minutes, also on a busy machine: rounds are not repeated.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

import django

from benchmarks import rounds, table
from benchmarks.machine import CPUS, description
from benchmarks.rounds import Contender
from benchmarks.stage import Server, Stage, stage
from benchmarks.table import Row

_ME, _DETAIL = "/api/v1/me", "/api/v1/projects/bench"
_CONNECTIONS = 32
_CALLS, _TIMES = 100, 5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.5, help="of each contender in each round")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2, 4, 8])
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    options = parser.parse_args()
    with stage(processors=CPUS) as running:
        token = running.administrator()
        os.environ.update(running.environment)
        django.setup()
        _create_project()
        rows = [*_requests(running, token, options), *_threads(running, token, options)]
        rows += _middlewares(token)
    text = f"{description()}. Processors are shared with the client.\n\n{table.markdown(rows)}"
    print(text)
    if options.write:
        table.write(text, "ordinary")
    return 0


def _create_project() -> None:
    from overrides.models import Project

    Project.objects.create(id="bench", name="bench")


def _requests(running: Stage, token: str, options: argparse.Namespace) -> Iterator[Row]:
    server = _serve(running, "workers", len(CPUS), 4)
    contenders = [_contender(running, server, token, path, path) for path in (_ME, _DETAIL)]
    _play(contenders, options)
    for contender in contenders:
        yield _row(contender, target=">= 1,500/s, <= 800 µs web")
    running.stop_servers()


def _threads(running: Stage, token: str, options: argparse.Namespace) -> Iterator[Row]:
    servers = {count: _serve(running, f"threads{count}", 1, count) for count in options.threads}
    contenders = [
        _contender(
            running, server, token, _ME, f"{_ME}, one worker, {count} thread{'s' if count > 1 else ''}"
        )
        for count, server in servers.items()
    ]
    _play(contenders, options)
    yield from (_row(contender) for contender in contenders)


def _play(contenders: list[Contender], options: argparse.Namespace) -> None:
    rounds.play(contenders, rounds=options.rounds, seconds=options.seconds, warm_up=0.5, repeats=1)


def _serve(running: Stage, name: str, workers: int, threads: int) -> Server:
    application = "controlplane.asgi:application"
    return running.serve(name, application, workers=workers, WEB_THREADS=str(threads))


def _contender(running: Stage, server: Server, token: str, path: str, name: str) -> Contender:
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    web, database = (server.process.pid,), (running.postgres,)
    return Contender(name, server.port, [request], _CONNECTIONS, web, database)


def _row(contender: Contender, target: str = "") -> Row:
    results = contender.results
    measured = [result.measured for result in results]
    web, database = (median(getattr(result, part) for result in results) for part in ("web", "database"))
    return Row(
        f"GET {contender.name}" if contender.name.startswith("/") else contender.name,
        f"{median(run.rate for run in measured):,.0f}",
        f"{median(run.percentile(0.5) for run in measured):.1f}",
        f"{median(run.percentile(0.99) for run in measured):.1f}",
        cpu=f"{web:.0f} + {database:.0f}",
        errors=str(sum(run.errors for run in measured)),
        target=target,
    )


def _middlewares(token: str) -> Iterator[Row]:
    """The processor time of a request here, with all middlewares and without each of them."""
    from django.conf import settings

    everything = list(settings.MIDDLEWARE)
    handlers = {"all middlewares": _handler(everything), _BROWSER: _handler(everything)}
    for name in everything:
        short = name.rpartition(".")[2]
        handlers[f"without {short}"] = _handler([other for other in everything if other != name])
    handlers["without any"] = _handler([])
    times: dict[str, list[float]] = {name: [] for name in handlers}
    for _ in range(_TIMES):
        for name, handler in handlers.items():
            times[name].append(_processor_time(handler, token, cookie=name == _BROWSER))
    for name, runs in times.items():
        yield Row(f"in one process, {name}", "", cpu=f"{min(runs):.0f}")


# A cookie that no session has: such a read takes the way of a browser.
_BROWSER = "all, and those of browsers"


def _handler(middlewares: list[str]) -> Any:
    from django.core.handlers.wsgi import WSGIHandler
    from django.test import override_settings

    with override_settings(MIDDLEWARE=middlewares):
        return WSGIHandler()


def _processor_time(handler: Any, token: str, *, cookie: bool) -> float:
    """In microseconds for each request, without what Postgres uses."""
    from django.test import RequestFactory

    environ = (
        RequestFactory().get(_ME, headers={"Host": "localhost", "Authorization": f"Bearer {token}"}).environ
    )
    environ.pop("HTTP_COOKIE", None)
    if cookie:
        environ["HTTP_COOKIE"] = "other=1"
    began = time.process_time()
    for _ in range(_CALLS):
        response = handler({**environ}, lambda status, headers, error=None: None)
        response.close()
        assert response.status_code == 200, response.content
    return (time.process_time() - began) / _CALLS * 1_000_000


if __name__ == "__main__":
    sys.exit(main())
