"""The event log under concurrent writers: nothing missed, nothing twice, in order per object."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from django.db import DatabaseError, connection, connections, transaction

from controlplane.events import log
from controlplane.events.models import Event
from overrides.event_types import PROJECT_CREATED

pytestmark = pytest.mark.django_db(transaction=True)


def append(name: str) -> None:
    log.append(PROJECT_CREATED, "project", name, data={"project": name}, actor="test")


class Writer:
    """A transaction on a connection of its own that commits when told to."""

    def __init__(self) -> None:
        self.connection = psycopg.connect(**connection.get_connection_params() | {"cursor_factory": None})

    def append(self, name: str) -> None:
        self.connection.execute(
            "INSERT INTO events_event (id, type, object_type, object_id, domain, project, workflow,"
            " launch_plan, actor, request_id, data) VALUES (gen_random_uuid(), 'project.created', 'project',"
            " %s, '', '', '', '', 'test', '', '{}')",
            [name],
        )

    def commit(self) -> None:
        self.connection.commit()
        self.connection.close()


def names(after: int = 0) -> list[str]:
    return [event.object_id for event in log.follow(after)]


def test_writers_that_commit_in_reverse_order_are_all_seen_by_a_follower():
    writers = [Writer() for _ in range(5)]
    for number, writer in enumerate(writers):
        writer.append(f"w{number}")
    object_ids, after = [], 0

    for writer in reversed(writers):
        writer.commit()
        for event in log.follow(after):
            object_ids.append(event.object_id)
            after = event.seq

    assert object_ids == ["w4", "w3", "w2", "w1", "w0"]
    assert list(Event.objects.order_by("seq").values_list("seq", flat=True)) == [1, 2, 3, 4, 5]


def test_a_writer_that_takes_its_time_holds_back_nobody():
    slow = Writer()
    slow.append("slow")

    with transaction.atomic():
        append("quick")

    assert names() == ["quick"]
    slow.commit()
    assert names() == ["quick", "slow"]


def test_a_change_that_is_rolled_back_leaves_no_event_and_no_gap():
    with pytest.raises(RuntimeError), transaction.atomic():
        append("never")
        raise RuntimeError
    with transaction.atomic():
        append("real")

    assert [event.seq for event in log.follow(0)] == [1]


def test_a_part_of_the_backlog_is_numbered_oldest_first():
    with transaction.atomic():
        for name in "abc":
            append(name)

    assert log.number_oldest(2) == 2
    assert list(Event.objects.filter(seq=None).values_list("object_id", flat=True)) == ["c"]
    assert log.number_oldest(2) == 1
    assert log.number_oldest(2) == 0


def test_an_event_outside_of_a_transaction_is_refused():
    with pytest.raises(RuntimeError, match="within a transaction"):
        append("loose")


def test_what_is_written_is_never_changed():
    with transaction.atomic():
        append("fact")
    log.number_committed()

    for change in ({"type": "lie"}, {"seq": 9}, {"seq": None}):
        with pytest.raises(DatabaseError, match="append-only"):
            Event.objects.update(**change)
    with pytest.raises(DatabaseError, match="append-only"):
        Event.objects.all().delete()


def test_followers_miss_nothing_while_many_write_and_many_number():
    """Eight writers commit at random moments; three followers read all the while."""
    stop = threading.Event()
    per_writer = 30

    def write(writer: int) -> None:
        chance = random.Random(writer)
        for number in range(per_writer):
            with transaction.atomic():
                append(f"{writer}:{number}")
                stop.wait(chance.random() / 200)
        connections.close_all()

    def follow() -> list[tuple[int, str]]:
        seqs, after = [], 0
        while True:
            last_round = stop.is_set()
            for event in log.follow(after):
                seqs.append((event.seq, event.object_id))
                after = event.seq
            if last_round:
                connections.close_all()
                return seqs

    with ThreadPoolExecutor(11) as pool:
        followers = [pool.submit(follow) for _ in range(3)]
        for writer in [pool.submit(write, number) for number in range(8)]:
            writer.result()
        stop.set()

    expected = {f"{writer}:{number}" for writer in range(8) for number in range(per_writer)}
    for follower in followers:
        seen_events = follower.result()
        assert {name for _, name in seen_events} == expected
        assert [seq for seq, _ in seen_events] == list(range(1, len(expected) + 1))
        for writer in range(8):
            own_names = [name for _, name in seen_events if name.startswith(f"{writer}:")]
            assert own_names == [f"{writer}:{number}" for number in range(per_writer)]
