"""Leadership: one holder at a time, an epoch that rises with each new one, and take-over after silence."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import connection, transaction

from controlplane.cluster import leadership
from controlplane.cluster.leadership import Role, lead, resign
from controlplane.cluster.models import Leadership
from controlplane.ids import uuid7

ONE, OTHER = uuid7(), uuid7()
ROLE = Role.CONSUMER_MONITOR


def expire() -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE cluster_leadership SET expires_at = clock_timestamp()")


def test_the_first_leads_until_its_lease_ends(db):
    assert lead(ROLE, holder=ONE) == 1
    assert lead(ROLE, holder=OTHER) is None
    assert lead(ROLE, holder=ONE) == 1, "A renewal is no new leader."
    expire()
    assert lead(ROLE, holder=OTHER) == 2
    assert lead(ROLE, holder=ONE) is None


def test_a_leader_that_resigns_is_followed_at_once(db):
    lead(ROLE, holder=ONE)
    resign(ROLE, holder=OTHER)
    assert lead(ROLE, holder=OTHER) is None, "Only the leader itself can resign."
    resign(ROLE, holder=ONE)
    assert lead(ROLE, holder=OTHER) == 2


def test_roles_are_led_apart(db):
    assert lead(Role.BEAT, holder=ONE) == 1
    assert lead(ROLE, holder=OTHER) == 1


def test_the_lease_ends_by_the_clock_of_the_database(db):
    lead(ROLE, holder=ONE, lease=timedelta(seconds=40))
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM expires_at - clock_timestamp()) FROM cluster_leadership")
        assert 39 < float(cursor.fetchone()[0]) <= 40


def test_a_child_process_is_not_its_parent():
    parent = leadership.process_id()
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, leadership.process_id().bytes)
        os._exit(0)
    os.wait()
    assert os.read(read, 16) != parent.bytes


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_one_leads():
    barrier = Barrier(8)

    def try_once(holder) -> int | None:
        barrier.wait(30)
        try:
            return lead(ROLE, holder=holder)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        epochs = list(threads.map(try_once, [uuid7() for _ in range(8)]))
    assert sorted(epoch for epoch in epochs if epoch) == [1]
    assert Leadership.objects.get().epoch == 1


@pytest.mark.django_db(transaction=True)
def test_nobody_takes_over_while_the_leader_writes():
    def take_over() -> int | None:
        try:
            return lead(ROLE, holder=OTHER)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as thread:
        with transaction.atomic():
            assert lead(ROLE, holder=ONE, lease=timedelta(0)) == 1
            other = thread.submit(take_over)
            with pytest.raises(TimeoutError):
                other.result(0.5)
        assert other.result(30) == 2
