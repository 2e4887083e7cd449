"""The streams of dispatch: set up, compared, and recognized as new ones."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction
from prometheus_client import REGISTRY
from prometheus_client.samples import Sample

from controlplane.database.locks import AdvisoryLock, lock
from controlplane.messaging.models import OutboxMessage, StreamRecord
from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_types import ConsumerSpec, StreamSpec, ToPublish
from controlplane.messaging.streams import (
    ADVISORIES,
    REQUESTS,
    RESPONSES,
    STATUS,
    Observed,
    have_no_differences,
    record,
    set_up,
    specs,
)
from tests.support.messages import outgoing, put
from tests.support.waiting import until

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.django_db
@pytest.mark.usefixtures("streams")
def test_each_message_has_its_stream(nats: NatsConnection) -> None:
    subjects = (
        "dcm.agent.a",
        "dcm.agent.a.cancel",
        "dcm.agents.responses",
        "dcm.agents.a.responses",
        "dcm.vm",
    )
    assert not any(nats.publish([ToPublish(one, b"", one) for one in subjects], timeout=30))

    stored = {spec.name: nats.ensure_stream(spec).messages for spec in specs()}
    assert stored == {REQUESTS: 2, RESPONSES: 2, STATUS: 1, ADVISORIES: 0}
    assert have_no_differences()


@pytest.mark.django_db
@pytest.mark.usefixtures("streams")
def test_messages_that_were_delivered_too_often_are_reported_in_a_stream(nats: NatsConnection) -> None:
    consumer = ConsumerSpec(REQUESTS, "alpha-consumer", ("dcm.agent.alpha",), max_deliveries=1)
    nats.publish([ToPublish("dcm.agent.alpha", b"", "1")], timeout=30)
    (received,) = nats.fetch(consumer, limit=1, seconds=2)
    received.nak()
    nats.fetch(consumer, limit=1, seconds=0.1)

    (advisory,) = nats.fetch(ConsumerSpec(ADVISORIES, "test"), limit=1, seconds=5)
    assert advisory.subject.endswith(f".{REQUESTS}.alpha-consumer")


def shown(metric: str) -> list[Sample]:
    return [sample for family in REGISTRY.collect() if family.name == metric for sample in family.samples]


@pytest.mark.django_db
def test_a_stream_of_another_kind_is_reported_and_left_alone(nats: NatsConnection) -> None:
    nats.ensure_stream(StreamSpec(REQUESTS, ("dcm.agent.>",), "limits", max_age_seconds=259200))
    nats.ensure_stream(StreamSpec("theirs", ("dcm.*",), "limits"))
    record([set_up(nats, spec) for spec in specs()])

    differences = dict(StreamRecord.objects.values_list("name", "difference"))
    assert differences[REQUESTS] == "retention is limits, not workqueue"
    assert "overlap" in differences[STATUS]
    assert differences[RESPONSES] == ""
    missing = {sample.labels["stream"]: sample.value for sample in shown("cp_stream_replicas_missing")}
    assert missing[RESPONSES] == 0
    assert not have_no_differences()

    nats.delete_stream("theirs")
    nats.delete_stream(REQUESTS)
    record([set_up(nats, spec) for spec in specs()])
    assert have_no_differences()


@pytest.mark.django_db
def test_a_first_stream_has_nothing_sent_again_and_a_younger_one_what_was_not_answered() -> None:
    put([outgoing("sent"), outgoing("answered"), outgoing("waits")])
    OutboxMessage.objects.exclude(order_key="resource:waits").update(sent_at=LONG_AGO)
    OutboxMessage.objects.filter(order_key="resource:answered").update(settled_at=LONG_AGO)

    first = Observed(REQUESTS, LONG_AGO, "")
    younger = replace(first, created_at=LONG_AGO + timedelta(days=1))
    assert [record([one]) for one in (first, first, younger, younger, first)] == [0, 0, 1, 0, 0]
    unsent = OutboxMessage.objects.filter(sent_at=None, settled_at=None).order_by("position")
    assert [one.event_id for one in unsent] == ["waits-1", "sent-1"]


@pytest.mark.django_db
def test_only_the_loss_of_requests_has_messages_sent_again() -> None:
    put([outgoing("sent")])
    OutboxMessage.objects.update(sent_at=LONG_AGO)
    first = Observed(RESPONSES, LONG_AGO, "")
    assert record([first, replace(first, created_at=LONG_AGO + timedelta(days=1))]) == 0


@pytest.mark.django_db(transaction=True)
def test_three_relays_have_lost_messages_sent_again_once() -> None:
    put([outgoing(f"r{number}") for number in range(50)])
    OutboxMessage.objects.update(sent_at=LONG_AGO)
    record([Observed(REQUESTS, LONG_AGO, "")])
    younger = Observed(REQUESTS, LONG_AGO + timedelta(days=1), "")

    def note(_: int) -> int:
        try:
            return record([younger])
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as threads:
        with transaction.atomic():
            lock(AdvisoryLock.OUTBOX)
            results = threads.map(note, range(3))
            # All have noticed it before the first one goes on.
            until(lambda: waiting_for_locks() == 3)
        assert sorted(results) == [0, 0, 50]
    assert OutboxMessage.objects.count() == 100


def waiting_for_locks() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        return int(cursor.fetchone()[0])
