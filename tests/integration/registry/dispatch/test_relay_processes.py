"""Relays as processes: together, killed at each point, cut off, with NATS and Postgres gone and back."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from controlplane.messaging.envelope import decode
from controlplane.messaging.models import OutboxMessage, StreamRecord
from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_types import Received
from controlplane.messaging.streams import REQUESTS
from tests.support.messages import outgoing, put, read_all
from tests.support.nats_server import OwnNats, Wire
from tests.support.relay_processes import RelayProcess, relays
from tests.support.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)
KEYS, EACH = 40, 5


@pytest.fixture
def server(tmp_path: Path) -> Iterator[OwnNats]:
    server = OwnNats(tmp_path / "nats")
    server.start()
    yield server
    server.stop()


def put_some(keys: int = KEYS, prefix: str = "r") -> int:
    put([outgoing(f"{prefix}{key}", number) for number in range(EACH) for key in range(keys)])
    return keys * EACH


def all_sent(number: int) -> bool:
    sent: bool = OutboxMessage.objects.exclude(sent_at=None).count() >= number
    return sent


def read(server: OwnNats, number: int) -> list[Received]:
    with NatsConnection(server.url, name="test") as nats:
        return read_all(nats, number)


def assert_each_once_in_order(received: list[Received]) -> None:
    """Each row arrived once, and those of each key in their order."""
    rows = {str(one) for one in OutboxMessage.objects.values_list("id", flat=True)}
    arrived = [one.headers["Nats-Msg-Id"] for one in received]
    assert sorted(arrived) == sorted(rows)
    last: dict[str, int] = {}
    for one in received:
        data = decode(one.body).data
        assert data["number"] == last.get(data["resource_id"], -1) + 1
        last[data["resource_id"]] = data["number"]


def test_three_relays_send_each_message_once_in_the_order_of_its_key(server: OwnNats, tmp_path: Path) -> None:
    with relays(3, tmp_path, NATS_URL=server.url) as running:
        number = put_some()
        until(lambda: all_sent(number), 60, lambda: running[0].output)
        assert_each_once_in_order(read(server, number))
        assert [one.stop() for one in running] == [0, 0, 0]


@pytest.mark.parametrize("point", ["claimed", "published:2", "marked"])
def test_a_relay_that_is_killed_loses_nothing_and_repeats_nothing(
    server: OwnNats, tmp_path: Path, point: str
) -> None:
    number = put_some(20)
    doomed = RelayProcess(tmp_path / "doomed.log", NATS_URL=server.url, FAILPOINT=point)
    assert doomed.wait() == -signal.SIGKILL, doomed.output
    assert not all_sent(number)

    with relays(1, tmp_path, NATS_URL=server.url) as (successor,):
        until(lambda: all_sent(number), 60, lambda: successor.output)
    assert_each_once_in_order(read(server, number))


def test_nats_restarts_with_and_without_its_messages(server: OwnNats, tmp_path: Path) -> None:
    with relays(2, tmp_path, NATS_URL=server.url) as running:
        number = put_some(10)
        until(lambda: all_sent(number), 60, lambda: running[0].output)
        server.stop()
        more = number + put_some(2, "later")
        server.start()
        until(lambda: all_sent(more), 60, lambda: running[0].output)
        assert len(read(server, more)) == more

        OutboxMessage.objects.filter(order_key="resource:r0").update(settled_at="2026-01-01T00:00Z")
        unanswered = more - EACH
        server.stop()
        server.empty()
        server.start()
        again = OutboxMessage.objects.filter(settled_at=None)
        until(lambda: again.exclude(sent_at=None).count() == unanswered, 60, lambda: running[0].output)
        until(lambda: OutboxMessage.objects.count() == more + unanswered)
        assert {decode(one.body).id for one in read(server, unanswered)} == {one.event_id for one in again}
        assert all(one.alive() for one in running)


def test_a_relay_that_is_cut_off_leaves_its_rows_to_others_and_returns(
    server: OwnNats, tmp_path: Path
) -> None:
    wire = Wire(server.port)
    try:
        with relays(1, tmp_path, NATS_URL=wire.url) as (relay,):
            until(lambda: StreamRecord.objects.filter(name=REQUESTS).exists(), 60, lambda: relay.output)
            wire.cut()
            number = put_some(10)
            until(lambda: "loop_waits" in relay.output)
            assert not all_sent(1)
            with relays(1, tmp_path / "nats", NATS_URL=server.url):
                until(lambda: all_sent(number))
            wire.mend()
            more = number + put_some(10, "later")
            until(lambda: all_sent(more), 60, lambda: relay.output)
            assert_each_once_in_order(read(server, more))
    finally:
        wire.close()


def test_a_relay_survives_the_end_of_its_connections_to_postgres(server: OwnNats, tmp_path: Path) -> None:
    with relays(1, tmp_path, NATS_URL=server.url) as (relay,):
        number = put_some(5)
        until(lambda: all_sent(number), 60, lambda: relay.output)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                " AND backend_type = 'client backend'"
            )
        more = number + put_some(5, "later")
        until(lambda: all_sent(more), 60, lambda: relay.output)
        assert_each_once_in_order(read(server, more))
        assert relay.stop() == 0


def test_a_relay_ends_when_one_of_its_loops_does(server: OwnNats, tmp_path: Path) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE messaging_outboxmessage RENAME COLUMN destination TO elsewhere")
    try:
        relay = RelayProcess(tmp_path / "relay.log", NATS_URL=server.url)
        assert relay.wait() == 1
        assert "A part ended by itself: outbox. See the log." in relay.output
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE messaging_outboxmessage RENAME COLUMN elsewhere TO destination")


def test_an_unknown_part_is_refused_with_the_names_of_all() -> None:
    with pytest.raises(CommandError, match="There is no part 'nothing'"):
        call_command("relay", only="outbox,nothing")
