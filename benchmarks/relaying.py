"""The relay against bare publishing, and the time from the row of the outbox to the subject."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median

from django.db import connection, transaction

from benchmarks.arrivals import Arrivals
from benchmarks.load import Measured
from benchmarks.stage import ROOT, Stage
from controlplane.ids import uuid7
from controlplane.messaging import outbox
from controlplane.messaging.models import OutboxMessage
from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_types import ToPublish
from controlplane.messaging.relay import Relay
from controlplane.messaging.streams import REQUESTS, record, set_up, specs

AGENTS = 100
_WRITERS = 4
_SPEC = {
    "image": {"reference": "docker.io/library/nginx:1.29"},
    "resources": {"cpu": {"min": 1, "max": 2}, "memory": {"min": "1GB", "max": "2GB"}},
    "network": {"ports": [{"container_port": 8080, "visibility": "internal"}]},
    "metadata": {"name": "web", "labels": {"application": "shop", "tier": "frontend", "owner": "ads"}},
}


@dataclass(slots=True)
class Race:
    """Messages per second in each round."""

    bare: list[float] = field(default_factory=list)
    one: list[float] = field(default_factory=list)
    several: list[float] = field(default_factory=list)

    def ratio(self, ours: list[float]) -> float:
        return median(mine / bare for mine, bare in zip(ours, self.bare, strict=True))


def request(number: int, name: str) -> outbox.Outgoing:
    data = {"resource_id": name, "service_type": "container", "epoch": 1, "spec": _SPEC, "request_id": name}
    return outbox.Outgoing(
        f"dcm.agent.agent-{number % AGENTS}",
        f"resource:{name}",
        name,
        "dcm.request.create",
        "dcm/control-plane",
        data,
    )


def race(running: Stage, messages: int, rounds: int, relays: int) -> Race:
    """Publish as many messages barely, from the outbox by one relay, and by several processes."""
    result = Race()
    with NatsConnection(running.environment["NATS_URL"], name="bench") as nats:
        if not nats.wait_connected(10):
            raise RuntimeError("NATS does not answer.")
        for _ in range(rounds):
            _clear(nats)
            result.bare.append(messages / _timed(lambda: _publish_barely(nats, messages)))
            _clear(nats)
            _fill(messages)
            result.one.append(messages / _timed(lambda: _relay_all(nats)))
            _clear(nats)
            with relay_processes(running, relays):
                _fill(messages)
                result.several.append(messages / _timed(lambda: _wait_until_sent(messages)))
    return result


def from_row_to_subject(running: Stage, rate: int, seconds: float) -> tuple[Measured, int]:
    """Store messages at a constant rate while a relay runs; return latencies, and how many were lost."""
    measured = Measured(seconds=seconds)
    with relay_processes(running, 1), Arrivals(running.environment["NATS_URL"]) as arrivals:
        _warm_up(arrivals)
        started = _write(rate, seconds)
        arrivals.wait(len(started) + 1, 10)
        measured.latencies, missing = arrivals.since(started)
    measured.answers = len(measured.latencies)
    return measured, missing


@contextmanager
def relay_processes(running: Stage, number: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes of `manage.py relay` that only send. They are up when this yields."""
    log = (running.folder / "relay.log").open("ab")
    command = [sys.executable, "manage.py", "relay", "--only", "outbox"]
    processes = [
        subprocess.Popen(command, cwd=ROOT, env=running.environment, stdout=log, stderr=log)
        for _ in range(number)
    ]
    try:
        _wait_for_connections(number)
        yield processes
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(15)
        log.close()


def _wait_for_connections(number: int) -> None:
    """Return when so many processes have claimed messages, which all of them do at once."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND (query LIKE '%SKIP LOCKED%' OR query = 'COMMIT')"
            )
            if cursor.fetchone()[0] >= number:
                return
        time.sleep(0.05)
    raise RuntimeError("The relays do not start.")


def _timed(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _clear(nats: NatsConnection) -> None:
    OutboxMessage.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE messaging_outboxmessage")
    record([set_up(nats, spec) for spec in specs()])
    nats.purge(REQUESTS, "dcm.agent.>")


def _fill(messages: int) -> None:
    rows = [request(number, str(uuid7())) for number in range(messages)]
    with transaction.atomic():
        OutboxMessage.objects.bulk_create(
            [
                OutboxMessage(
                    channel=outbox.NATS,
                    destination=row.destination,
                    order_key=row.order_key,
                    event_id=row.event_id,
                    event_type=row.event_type,
                    source=row.source,
                    data=row.data,
                )
                for row in rows
            ],
            batch_size=2000,
        )


def _publish_barely(nats: NatsConnection, messages: int) -> None:
    rows = [request(number, str(uuid7())) for number in range(messages)]
    batch = [ToPublish(row.destination, _body(row), row.event_id) for row in rows]
    # The window of JetStream's own clients.
    for start in range(0, messages, 4000):
        errors = nats.publish(batch[start : start + 4000], timeout=30)
        if any(errors):
            raise RuntimeError(next(filter(None, errors)))


def _body(row: outbox.Outgoing) -> bytes:
    from controlplane.messaging.envelope import Envelope, encode

    return encode(Envelope(row.event_id, row.source, row.event_type, row.data, row.destination))


def _relay_all(nats: NatsConnection) -> None:
    relay = Relay(nats)
    while relay.send_batch():
        pass


def _wait_until_sent(messages: int) -> None:
    while OutboxMessage.objects.filter(sent_at=None).exists():
        time.sleep(0.005)


def _warm_up(arrivals: Arrivals) -> None:
    with transaction.atomic():
        outbox.put([request(0, "warm-up")])
    arrivals.wait(1, 60)


def _write(rate: int, seconds: float) -> dict[str, float]:
    """Store one message in each transaction, in several threads; return when each was committed."""
    started: dict[str, float] = {}

    def work(first: int) -> None:
        began = time.perf_counter()
        for number in range(first, int(rate * seconds), _WRITERS):
            time.sleep(max(0.0, began + number / rate - time.perf_counter()))
            name = str(uuid7())
            with transaction.atomic():
                outbox.put([request(number, name)])
            started[name] = time.perf_counter()
        connection.close()

    threads = [threading.Thread(target=work, args=(first,)) for first in range(_WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return started
