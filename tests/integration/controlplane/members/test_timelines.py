"""Processes learn from each other which timeline is the highest, and need nobody for it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings

from controlplane.cluster.valkey import client_of
from controlplane.database.primary import Primary, primary
from controlplane.database.timelines import Server
from controlplane.members.presence import Presence
from controlplane.members.timelines import KEPT_SECONDS, KEY, exchange

HOST = ("one", "5432")
SYSTEM = "7000000000000000001"
OLD, NEW = Server(SYSTEM, 3), Server(SYSTEM, 4)


@pytest.fixture
def valkey() -> Iterator[Any]:
    with client_of(settings.REDIS_URL) as client:
        client.delete(KEY)
        yield client
        client.delete(KEY)


def process_that_saw(*servers: Server) -> Primary:
    known = Primary()
    for server in servers:
        known.admit(server, HOST)
    return known


def test_a_process_that_starts_later_refuses_the_former_primary(valkey):
    exchange(known=process_that_saw(NEW))
    later = Primary()

    exchange(known=later)

    assert not later.admit(OLD, HOST)
    assert later.admit(NEW, HOST)


def test_a_lower_timeline_takes_nothing_back(valkey):
    exchange(known=process_that_saw(NEW))
    behind = process_that_saw(OLD)

    exchange(known=behind)

    assert behind.is_old(OLD)
    assert valkey.hget(KEY, SYSTEM) == b"4"


def test_who_has_only_heard_of_a_timeline_does_not_keep_it(valkey):
    exchange(known=process_that_saw(NEW))
    later = Primary()
    exchange(known=later)
    valkey.expire(KEY, 1)

    exchange(known=later)

    assert valkey.ttl(KEY) <= 1


def test_a_cluster_that_was_restored_is_admitted_once_the_hint_is_gone(valkey):
    exchange(known=process_that_saw(NEW))
    later = Primary()
    exchange(known=later)
    assert not later.admit(OLD, HOST)
    # `after_restore` empties Valkey; and it ends by itself.
    valkey.delete(KEY)

    exchange(known=later)

    assert later.admit(OLD, HOST)


def test_the_hint_ends_with_the_last_process(valkey):
    known = process_that_saw(NEW)
    exchange(known=known)
    valkey.expire(KEY, 1)

    exchange(known=known)

    assert 1 < valkey.ttl(KEY) <= KEPT_SECONDS


def test_what_is_no_timeline_is_passed_over(valkey):
    valkey.hset(KEY, mapping={"": "1", SYSTEM: "many", "another": "5", "7": "2"})
    known = Primary()

    exchange(known=known)

    assert [known.is_old(Server(name, 1)) for name in ("7", SYSTEM, "another")] == [True, False, False]


def test_without_valkey_a_process_knows_what_it_has_seen(valkey):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        known = process_that_saw(NEW)
        exchange(f"redis://127.0.0.1:{nobody.getsockname()[1]}/0", known)

    assert known.is_old(OLD)


@pytest.mark.django_db(transaction=True)
def test_a_process_knows_before_it_asks_a_server(valkey):
    exchange(known=process_that_saw(NEW))
    presence = Presence("relay", every_seconds=60)

    presence.start()

    assert primary.is_old(OLD)
    presence.stop()
