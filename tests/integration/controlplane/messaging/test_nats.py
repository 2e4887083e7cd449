"""The connection to NATS, against a real server."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_questions import server_answers
from controlplane.messaging.nats_types import (
    NO_STREAM,
    NOT_CONFIRMED,
    UNREACHABLE,
    ConsumerSpec,
    NatsUnavailable,
    StreamSpec,
    ToPublish,
    is_outage,
)
from tests.support.nats_server import OwnNats, Wire
from tests.support.waiting import until

WORK = StreamSpec("work", ("work.>",), "workqueue", discard="new", max_messages_per_subject=3)
CONSUMER = ConsumerSpec("work", "worker", ("work.a",))


def publish(nats: NatsConnection, *messages: tuple[str, str], size: int = 1) -> list[str]:
    return nats.publish([ToPublish(subject, b"x" * size, id_) for subject, id_ in messages], timeout=20)


def test_messages_are_stored_once_by_their_id_and_keep_their_headers(nats: NatsConnection) -> None:
    nats.ensure_stream(WORK)
    assert nats.publish([ToPublish("work.a", b"one", "id-1", {"X": "y"})], timeout=20) == [""]
    assert publish(nats, ("work.a", "id-1"), ("work.a", "id-2")) == ["", ""]

    first, second = nats.fetch(CONSUMER, limit=10, seconds=20)
    assert (first.body, first.headers, first.deliveries) == (b"one", {"X": "y", "Nats-Msg-Id": "id-1"}, 1)
    assert (second.sequence, second.stream, second.consumer) == (2, "work", "worker")
    stored = nats.message("work", 1)
    assert stored is not None
    assert (stored.body, stored.headers["X"], stored.stored_at) == (b"one", "y", first.stored_at)


def test_verdicts_on_messages(nats: NatsConnection) -> None:
    nats.ensure_stream(WORK)
    publish(nats, ("work.a", "1"), ("work.a", "2"), ("work.a", "3"))
    done, again, hopeless = nats.fetch(CONSUMER, limit=10, seconds=20)
    done.ack()
    again.nak(0.05)
    hopeless.terminate()

    (repeated,) = nats.fetch(CONSUMER, limit=10, seconds=20)
    assert (repeated.sequence, repeated.deliveries) == (again.sequence, 2)
    repeated.ack()
    until(lambda: nats.ensure_stream(WORK).messages == 0)


def test_each_refusal_says_whether_the_message_is_at_fault(nats: NatsConnection) -> None:
    nats.ensure_stream(WORK)
    publish(nats, ("work.a", "1"), ("work.a", "2"), ("work.a", "3"))

    full, free, elsewhere, invalid = publish(
        nats, ("work.a", "4"), ("work.b", "5"), ("nowhere", "6"), ("no subject", "7")
    )
    assert "maximum messages per subject exceeded" in full
    assert (free, elsewhere) == ("", NO_STREAM)
    (large,) = publish(nats, ("work.c", "8"), size=2_000_000)
    assert [is_outage(error) for error in (full, elsewhere, invalid, large)] == [False, True, False, False]


def test_a_stream_of_somebody_else_is_compared_and_left_alone(nats: NatsConnection) -> None:
    nats.ensure_stream(StreamSpec("work", ("work.>",), "limits"))
    facts = nats.ensure_stream(WORK)
    assert facts.difference == "retention is limits, not workqueue"
    other = nats.ensure_stream(StreamSpec("work", ("other.>",), "limits"))
    assert other.difference == "subjects are work.>, not other.>"
    assert other.created_at == facts.created_at


def test_limits_of_a_stream_are_adjusted(nats: NatsConnection) -> None:
    nats.ensure_stream(StreamSpec("work", ("work.>",), "workqueue"))
    assert nats.ensure_stream(WORK).difference == ""
    assert publish(nats, *[("work.a", str(number)) for number in range(4)])[3] != ""


def test_consumers_are_listed_over_all_pages_and_deleted(nats: NatsConnection) -> None:
    nats.ensure_stream(WORK)
    for number in range(300):
        nats.ensure_consumer(ConsumerSpec("work", f"c{number}", (f"work.{number}",)))
    publish(nats, ("work.7", "1"))

    facts = {one.name: one for one in nats.consumers("work")}
    assert len(facts) == 300
    assert (facts["c7"].filter_subject, facts["c7"].pending, facts["c8"].pending) == ("work.7", 1, 0)
    for _ in range(2):
        nats.delete_consumer("work", "c7")
    assert nats.purge("work", "work.7") == 1
    assert len(nats.consumers("work")) == 299
    nats.delete_stream("work")
    nats.delete_stream("work")
    nats.delete_message("work", 1)
    assert nats.consumers("work") == []


def test_a_consumer_that_was_deleted_is_created_again(nats: NatsConnection) -> None:
    nats.ensure_stream(WORK)
    assert nats.fetch(CONSUMER, limit=1, seconds=0) == []
    nats.delete_consumer("work", "worker")
    publish(nats, ("work.a", "1"))
    assert until(lambda: nats.fetch(CONSUMER, limit=1, seconds=0.2))


def test_requests_are_answered_by_handlers_also_after_a_restart(
    server: OwnNats, nats: NatsConnection
) -> None:
    nats.subscribe("greet", lambda message: b"hello " + message.body, queue="greeters")
    assert nats.request("greet", b"Ann", timeout=20) == b"hello Ann"
    with pytest.raises(NatsUnavailable):
        nats.request("nobody", b"", timeout=20)

    server.stop()
    until(lambda: not nats.connected)
    assert publish(nats, ("work.a", "1")) == [UNREACHABLE]
    server.start()
    assert nats.wait_connected(30)
    assert nats.request("greet", b"Bob", timeout=20) == b"hello Bob"


def is_stopped(server: OwnNats) -> bool:
    """True if the kernel has stopped every thread of the server."""
    assert server.process is not None
    threads = Path(f"/proc/{server.process.pid}/task").iterdir()
    states = [(thread / "stat").read_text().rpartition(")")[2].split()[0] for thread in threads]
    return set(states) == {"T"}


def test_a_hanging_server_is_noticed_within_the_timeout(server: OwnNats, nats: NatsConnection) -> None:
    nats.ensure_stream(WORK)
    assert server.process is not None
    server.process.send_signal(signal.SIGSTOP)
    # A signal takes effect a moment later, in which the server could still answer.
    until(lambda: is_stopped(server))
    try:
        assert nats.publish([ToPublish("work.a", b"", "1")], timeout=0.3) == [NOT_CONFIRMED]
    finally:
        server.process.send_signal(signal.SIGCONT)
    assert nats.wait_connected(30)
    assert nats.publish([ToPublish("work.a", b"", "1")], timeout=20) == [""]


def test_nothing_that_was_not_confirmed_is_sent_later(server: OwnNats) -> None:
    wire = Wire(server.port)
    with NatsConnection(wire.url, name="cut") as nats:
        assert nats.wait_connected(30)
        nats.ensure_stream(WORK)
        wire.cut()
        assert nats.publish([ToPublish("work.a", b"x" * 900_000, "1")], timeout=0.2) == [NOT_CONFIRMED]
        wire.mend()
        assert nats.wait_connected(30)
        assert nats.ensure_stream(WORK).messages == 0
    wire.close()


def test_a_server_answers_or_not(server: OwnNats) -> None:
    assert server_answers(server.url, timeout=20)
    server.stop()
    assert not server_answers(server.url, timeout=0.5)
