"""Events out: from the commit to the receiver of a webhook, with one relay process.

* events per second with 1, 10 and 200 sinks, beside the same requests sent by threads without a database;
* the lag at a constant rate, alone and with as many receivers that hang beside;
* the memory of the relay while 100,000 events are queued and sent.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import django

from benchmarks.machine import CPUS, processes
from benchmarks.stage import ROOT, Stage, stage
from benchmarks.table import Row, markdown, write
from benchmarks.webhook_players import Players, players
from controlplane.local.data_folder import secrets_key_file

_SETTINGS = {"OUTGOING_ALLOWED_NETWORKS": "127.0.0.0/8", "WEBHOOK_ALLOW_HTTP": "true"}
_THREADS = 200
_LAG_SINKS = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--deliveries", type=int, default=4_000, help="Deliveries of each race.")
    parser.add_argument("--seconds", type=float, default=20, help="How long the lag is measured.")
    parser.add_argument("--burst", type=int, default=100_000, help="Events of the burst.")
    parser.add_argument("--write", action="store_true", help="Write the table to docs/performance.md.")
    arguments = parser.parse_args()
    with stage(_SETTINGS, processors=CPUS) as running, players() as receivers:
        running.environment["SECRETS_KEY_FILE"] = str(secrets_key_file(running.folder))
        os.environ.update(running.environment)
        django.setup()
        bare = _bare(receivers, arguments.deliveries)
        rows = [Row("the same requests by 200 threads, without a database", f"{bare:,.0f}", ratio="1")]
        for sinks in (1, 10, 200):
            rows.append(_race(running, receivers, sinks, arguments.deliveries, bare))
        for hanging in (0, _LAG_SINKS):
            rows.append(_lag(running, receivers, hanging, arguments.seconds))
        rows.append(_burst(running, receivers, arguments.burst))
    text = markdown(rows)
    print(text)
    if arguments.write:
        write(text, "events-out")


def _bare(receivers: Players, number: int) -> float:
    """Return requests per second of the pipeline's own requests, without anything else."""
    from controlplane.delivery.https_exchange import exchange

    url, body = f"{receivers.url}/hook/bare", b"{" + b" " * 600 + b"}"
    began = time.monotonic()
    with ThreadPoolExecutor(_THREADS) as threads:
        for _ in range(number):
            threads.submit(exchange, url, body, {"webhook-id": "bare"}, seconds=20)
    receivers.take()
    return number / (time.monotonic() - began)


def _race(running: Stage, receivers: Players, sinks: int, deliveries: int, bare: float) -> Row:
    """Measure how long a relay takes for events that are committed at once."""
    _make_sinks([f"{receivers.url}/hook/{number}" for number in range(sinks)])
    with _relay(running):
        _wait_until_idle(receivers, sinks)
        events = deliveries // sinks
        began = time.monotonic()
        _append(events)
        _wait_for(receivers, events * sinks)
        rate = events * sinks / (time.monotonic() - began)
    receivers.take()
    return Row(
        f"deliveries to {sinks} sinks",
        f"{rate:,.0f}",
        ratio=f"{rate / bare:.2f}",
        target="",
    )


def _lag(running: Stage, receivers: Players, hanging: int, seconds: float) -> Row:
    """Measure the time from commits, ten a second, to the receipt at sinks that answer."""
    from controlplane.events.models import Event

    good = [f"{receivers.url}/hook/{number}" for number in range(_LAG_SINKS)]
    _make_sinks([*good, *(f"{receivers.url}/hang/{number}" for number in range(hanging))])
    with _relay(running):
        _wait_until_idle(receivers, _LAG_SINKS)
        for _ in range(int(10 * seconds)):
            _append(1)
            time.sleep(0.1)
        _wait_for(receivers, int(10 * seconds) * _LAG_SINKS)
    committed = {str(key): at.timestamp() for key, at in Event.objects.values_list("id", "at")}
    lags = sorted(at - committed[key] for key, at in receivers.take())
    return Row(
        f"lag: {_LAG_SINKS} sinks, and {hanging} that hang, 10 events a second",
        f"{len(lags) / seconds:,.0f}",
        f"{1000 * _quantile(lags, 0.5):,.0f}",
        f"{1000 * _quantile(lags, 0.99):,.0f}",
        target="p99 5,000 ms" if hanging else "",
    )


def _burst(running: Stage, receivers: Players, events: int) -> Row:
    """Measure the memory of the relay over a burst, in MiB: before, and at most."""
    from controlplane.delivery.models import Delivery

    _make_sinks([f"{receivers.url}/hook/burst"])
    with _relay(running) as relay:
        _wait_until_idle(receivers, 1)
        before = highest = _memory(relay)
        began = time.monotonic()
        _append(events)
        while Delivery.objects.count() < events + 1:
            highest = max(highest, _memory(relay))
            time.sleep(0.2)
        queued = time.monotonic() - began
        for _ in range(100):
            highest = max(highest, _memory(relay))
            time.sleep(0.2)
        sent = receivers.count() / (time.monotonic() - began)
    receivers.take()
    return Row(
        f"burst of {events:,} events, queued in {queued:.0f} s; MiB before {before}, at most {highest}",
        f"{sent:,.0f}",
        ratio=f"{highest / before:.2f}",
        target="memory flat",
    )


def _make_sinks(urls: list[str]) -> None:
    """Replace all sinks by one for each address."""
    from controlplane.access.models import Principal
    from controlplane.delivery.models import Delivery, DeliveryAttempt, Sink
    from controlplane.delivery.sink_terms import SinkTerms
    from controlplane.delivery.sinks import create_sink
    from controlplane.identity.actors import Actor
    from controlplane.identity.roles import Role
    from tests.support.api_client import make_principal

    for model in (DeliveryAttempt, Delivery, Sink):
        model.objects.all().delete()
    creator = Principal.objects.filter(name__startswith="admin").first() or make_principal(Role.ADMIN)
    for number, url in enumerate(urls):
        terms = SinkTerms(
            f"sink-{number}",
            {"url": url},
            filter={"types": ["project.*"]},
            max_in_flight=64,
            per_second=1000,
        )
        create_sink(terms, team=None, actor=Actor(creator.id, creator.name))


def _append(number: int) -> None:
    """Commit events of different objects, at most 1,000 in a transaction."""
    from django.db import transaction

    from controlplane.events import log
    from overrides.event_types import PROJECT_CREATED

    for start in range(0, number, 1000):
        names = [f"p{start + place}" for place in range(min(1000, number - start))]
        entries: list[Any] = [
            log.Entry(PROJECT_CREATED, "project", name, {"project": name}, "benchmark") for name in names
        ]
        with transaction.atomic():
            log.append_each(entries)


def _wait_until_idle(receivers: Players, sinks: int) -> None:
    """Let an event pass, so that the relay runs and has its connections."""
    _append(1)
    _wait_for(receivers, sinks)
    receivers.take()


def _wait_for(receivers: Players, number: int) -> None:
    deadline = time.monotonic() + 300
    while (arrived := receivers.count()) < number:
        if time.monotonic() > deadline:
            raise RuntimeError(f"Only {arrived} of {number} arrived in 300 s.")
        time.sleep(0.05)


@contextmanager
def _relay(running: Stage) -> Iterator[int]:
    log = (running.folder / "relay.log").open("ab")
    command = [sys.executable, "manage.py", "relay", "--only", "events,deliveries"]
    process = subprocess.Popen(command, cwd=ROOT, env=running.environment, stdout=log, stderr=log)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait(30)
        log.close()


def _quantile(ordered: list[float], part: float) -> float:
    return ordered[int(part * (len(ordered) - 1))]


def _memory(pid: int) -> int:
    return processes()[pid].memory // 2**20


if __name__ == "__main__":
    main()
