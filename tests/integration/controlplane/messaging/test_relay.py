"""The relay within one process: order, marks, refusals, dead letters."""

from __future__ import annotations

import pytest
from django.db import connection, transaction

from controlplane.messaging import outbox
from controlplane.messaging.envelope import decode, encode
from controlplane.messaging.models import DeadLetter, OutboxMessage
from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_types import NatsUnavailable
from controlplane.messaging.relay import Relay, _prepare_transaction
from tests.support.messages import outgoing, put, read_all
from tests.support.nats_server import OwnNats
from tests.support.observations import observed

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("streams")]


def make_due() -> None:
    OutboxMessage.objects.update(leased_until=None)


def test_a_message_arrives_as_it_was_stored(nats: NatsConnection) -> None:
    before = observed("cp_outbox_sent_seconds", within=2.0)
    put([outgoing("web", text='"é"\n\u2028', number=1.50)])
    assert Relay(nats).send_batch() == 1
    assert observed("cp_outbox_sent_seconds", within=2.0) == before + 1

    (received,) = read_all(nats, 1)
    row = OutboxMessage.objects.get()
    assert decode(received.body) == outbox.envelope_of(row) == decode(encode(outbox.envelope_of(row)))
    assert received.headers["Nats-Msg-Id"] == str(row.id)
    assert received.subject == row.destination
    assert (row.attempts, row.last_error, row.settled_at) == (1, "", None)
    assert row.sent_at is not None


def test_of_each_key_one_message_is_in_a_batch_and_order_is_kept(nats: NatsConnection) -> None:
    put([outgoing(resource, number) for number in (1, 2, 3) for resource in "ab"])
    relay = Relay(nats)

    assert [relay.send_batch() for _ in range(4)] == [2, 2, 2, 0]
    arrived = [decode(one.body).id for one in read_all(nats, 6)]
    assert arrived == ["a-1", "b-1", "a-2", "b-2", "a-3", "b-3"]


def test_a_message_that_is_too_large_blocks_its_key_alone_and_becomes_a_dead_letter(
    nats: NatsConnection,
) -> None:
    put([outgoing("large", 1, padding="x" * 1_100_000), outgoing("large", 2), outgoing("small")])
    relay = Relay(nats)
    relay.send_batch()

    large = OutboxMessage.objects.get(event_id="large-1")
    assert (large.attempts, large.sent_at) == (1, None)
    assert "maximum payload exceeded" in large.last_error
    assert relay.send_batch() == 0, "It waits before its next attempt."
    for _ in range(7):
        make_due()
        relay.send_batch()

    large.refresh_from_db()
    assert (large.attempts, large.sent_at) == (8, None)
    assert large.settled_at is not None
    letter = DeadLetter.objects.get()
    assert (letter.stream, letter.sequence, letter.resource_id) == ("outbox", large.position, "large")
    assert decode(bytes(letter.payload)).id == "large-1"
    relay.send_batch()
    assert {decode(one.body).id for one in read_all(nats, 2)} == {"small-1", "large-2"}


def test_without_a_stream_messages_wait_and_count_no_attempt(nats: NatsConnection) -> None:
    nats.delete_stream("dcm-agent-requests")
    put([outgoing("web")])
    with pytest.raises(NatsUnavailable):
        Relay(nats).send_batch()
    row = OutboxMessage.objects.get()
    assert (row.attempts, row.sent_at, row.last_error) == (0, None, "")


def test_without_nats_messages_wait(server: OwnNats, nats: NatsConnection) -> None:
    put([outgoing("web")])
    server.stop()
    with pytest.raises(NatsUnavailable):
        Relay(nats).send_batch()
    assert OutboxMessage.objects.get().attempts == 0


_BACKLOG = """
INSERT INTO messaging_outboxmessage
    (id, channel, destination, order_key, event_id, event_type, source, data, sent_at, settled_at)
SELECT gen_random_uuid(), 'nats', 'dcm.agent.a', 'k' || number % {keys}, '', '', '', '{{}}',
    {settled}, {settled}
FROM generate_series(1, {messages}) number;
"""
_ANALYZE = "ANALYZE messaging_outboxmessage; DELETE FROM messaging_outboxmessage;"


@pytest.mark.parametrize(
    "earlier",
    [
        "",
        _ANALYZE,
        _BACKLOG.format(keys=3, messages=3, settled="NULL") + _ANALYZE,
        _BACKLOG.format(keys=1, messages=3000, settled="NULL") + _ANALYZE,
        _BACKLOG.format(keys=5000, messages=5000, settled="now()") + _ANALYZE,
    ],
    ids=["never analyzed", "empty", "few", "one key", "all settled"],
)
@pytest.mark.parametrize("keys", [200, 20_000])
def test_a_large_backlog_is_claimed_by_its_index_whatever_statistics_say(earlier: str, keys: int) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(earlier + _BACKLOG.format(keys=keys, messages=20_000, settled="NULL"))
        _prepare_transaction()
        assert len(outbox.claim(500)) == min(keys, 500)
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {outbox._CLAIM}", [500])
        ((plan,),) = cursor.fetchone()
        transaction.set_rollback(True)
    # A plan that reads all unsent messages for each of them looks at millions of pages.
    assert plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"] < 200_000
