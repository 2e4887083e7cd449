"""One batch of operations: grants, queues, renewals and releases."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from controlplane.ids import uuid7
from controlplane.pools.ledger import Reason
from controlplane.pools.operations import (
    Acquire,
    Granted,
    Lost,
    Queued,
    Refused,
    Release,
    Released,
    Renew,
    TokenInUse,
)
from controlplane.pools.terms import GrantMode, LeaseState, Limit, PoolTerms
from controlplane.scopes import Scope
from tests.support.pool_model import MemoryPool

ML, DATA = Scope(project="ml"), Scope(project="data")


def pool(capacity: int = 2, *limits: Limit, **terms: Any) -> MemoryPool:
    return MemoryPool(PoolTerms(capacity, **terms), list(limits))


def held(result: object):
    assert isinstance(result, Granted)
    return result.lease


def reasons(result: object) -> set[Reason]:
    assert isinstance(result, Refused | Queued)
    return {obstacle.reason for obstacle in result.obstacles}


def test_units_are_granted_until_the_pool_is_full():
    subject = pool()
    first, second, third = subject.ask(Acquire("a"), Acquire("b"), Acquire("c"))
    assert held(first).epoch == 1
    assert held(second).epoch == 2
    assert reasons(third) == {Reason.CAPACITY}


def test_the_same_token_gets_the_same_lease():
    subject = pool()
    (first,) = subject.ask(Acquire("a", ML))
    (again,) = subject.ask(Acquire("a", ML))
    assert held(again) == held(first)
    assert isinstance(again, Granted)
    assert not again.is_new
    assert len(subject.leases) == 1


def test_the_same_token_twice_in_one_batch_is_one_lease():
    subject = pool()
    first, again, larger = subject.ask(Acquire("a"), Acquire("a"), Acquire("a", units=2))
    assert held(first).id == held(again).id
    assert larger == TokenInUse(1)
    assert len(subject.leases) == 1


def test_nobody_occupies_the_token_of_another_project():
    subject = pool()
    first, second = subject.ask(Acquire("a", ML), Acquire("a", DATA))
    assert held(first).id != held(second).id


def test_another_number_of_units_is_no_repetition():
    subject = pool()
    subject.ask(Acquire("a"))
    assert subject.ask(Acquire("a", units=2)) == [TokenInUse(1)]


def test_the_token_of_somebody_else_is_in_use_and_its_lease_stays_as_it_is():
    subject, own, other = pool(), uuid7(), uuid7()
    (first,) = subject.ask(Acquire("a", holder_id=own))
    shortened = Acquire("a", holder_id=other, lease_seconds=1, sees_others=False)
    assert subject.ask(shortened) == [TokenInUse(1)]
    assert subject.leases[held(first).id] == held(first)
    (seen,) = subject.ask(Acquire("a", holder_id=other))
    assert held(seen).id == held(first).id
    both = subject.ask(Acquire("b", holder_id=own), Acquire("b", holder_id=other, sees_others=False))
    assert both[1] == TokenInUse(1)


def test_a_released_unit_goes_to_the_request_that_waits():
    subject = pool(1)
    first, second = subject.ask(Acquire("a"), Acquire("b", is_queued=True))
    assert isinstance(second, Queued)
    subject.pass_time(5)
    (released,) = subject.ask(Release(held(first).id))
    assert isinstance(released, Released)
    assert released.lease
    (promoted,) = subject.last.promoted
    assert (promoted.token, promoted.state, promoted.epoch) == ("b", LeaseState.GRANTED, 2)
    assert promoted.granted_at == subject.now


def test_a_batch_grants_what_it_frees():
    subject = pool(1)
    (first,) = subject.ask(Acquire("a"))
    second, released = subject.ask(Acquire("b"), Release(key=held(first).key))
    assert held(second).token == "b"
    assert isinstance(released, Released)


def test_a_release_is_idempotent_and_heeds_the_epoch():
    subject = pool()
    (first,) = subject.ask(Acquire("a"))
    lease = held(first)
    assert subject.ask(Release(lease.id, epoch=lease.epoch + 1)) == [Released(None)]
    (released,) = subject.ask(Release(lease.id, epoch=lease.epoch))
    assert isinstance(released, Released)
    assert released.lease is not None
    assert subject.ask(Release(lease.id)) == [Released(None)]


def test_a_holder_whose_lease_ended_is_fenced_off():
    subject = pool(1)
    (first,) = subject.ask(Acquire("a"))
    subject.ask(Release(held(first).id, state=LeaseState.EXPIRED))
    (second,) = subject.ask(Acquire("b"))
    assert held(second).epoch > held(first).epoch
    assert subject.ask(Renew(held(first).id, held(first).epoch)) == [Lost()]


def test_a_lease_is_renewed_up_to_the_longest_hold():
    subject = pool(max_hold_seconds=400)
    (first,) = subject.ask(Acquire("a"))
    assert held(first).expires_at == subject.now + timedelta(seconds=300)
    subject.pass_time(200)
    (renewed,) = subject.ask(Renew(held(first).id, 1))
    assert held(renewed).expires_at == subject.now + timedelta(seconds=200)


def test_a_lease_without_seconds_lasts_until_released():
    subject = pool(lease_seconds=0, max_hold_seconds=0)
    (first,) = subject.ask(Acquire("a"))
    assert held(first).expires_at is None


@pytest.mark.parametrize(
    ("limit", "scope"),
    [
        (Scope(), ML),
        (Scope(domain="prod"), Scope(domain="prod", project="ml")),
        (ML, Scope(domain="prod", project="ml", workflow="train")),
        (Scope(domain="prod", project="ml"), Scope(domain="prod", project="ml")),
        (Scope("prod", "ml", "train"), Scope("prod", "ml", "train", "nightly")),
        (Scope("prod", "ml", "train", "nightly"), Scope("prod", "ml", "train", "nightly")),
    ],
)
def test_a_cap_holds_for_all_that_its_scope_covers(limit, scope):
    subject = pool(10, Limit(limit, cap=1))
    first, second = subject.ask(Acquire("a", scope), Acquire("b", scope))
    held(first)
    assert reasons(second) == {Reason.CAP}
    assert isinstance(second, Refused)
    assert second.obstacles[0].scope == limit


def test_a_cap_of_a_project_is_not_one_of_a_project_with_a_longer_name():
    subject = pool(10, Limit(Scope(project="proj"), cap=1))
    results = subject.ask(
        Acquire("a", Scope(project="proj")),
        Acquire("b", Scope(project="project2")),
        Acquire("c", Scope(project="project2")),
    )
    assert all(isinstance(result, Granted) for result in results)


def test_guaranteed_units_are_kept_for_their_scope():
    subject = pool(3, Limit(ML, guaranteed=2))
    first, second = subject.ask(Acquire("a", DATA), Acquire("b", DATA))
    held(first)
    assert reasons(second) == {Reason.GUARANTEED}
    assert all(isinstance(result, Granted) for result in subject.ask(Acquire("c", ML), Acquire("d", ML)))


def test_a_closed_pool_grants_nothing_and_keeps_its_leases():
    subject = pool()
    (first,) = subject.ask(Acquire("a"))
    subject.terms = PoolTerms(2, is_open=False)
    assert reasons(subject.ask(Acquire("b"))[0]) == {Reason.CLOSED}
    assert held(subject.ask(Renew(held(first).id, 1))[0])


def test_a_capacity_below_use_revokes_nothing_and_grants_nothing():
    subject = pool(2)
    subject.ask(Acquire("a"), Acquire("b"))
    subject.terms = PoolTerms(1)
    (third,) = subject.ask(Acquire("c", is_queued=True))
    assert reasons(third) == {Reason.CAPACITY}
    assert len(subject.in_state(LeaseState.GRANTED)) == 2


def test_a_full_queue_refuses():
    subject = pool(0, queue_limit=1)
    first, second = subject.ask(Acquire("a", is_queued=True), Acquire("b", is_queued=True))
    assert isinstance(first, Queued)
    assert isinstance(second, Refused)
    assert second.is_full


def test_a_project_that_fills_the_queue_leaves_places_to_others():
    subject = pool(0, queue_limit=200)
    subject.ask(*(Acquire(f"flood-{number}", ML, is_queued=True) for number in range(250)))
    assert len(subject.in_state(LeaseState.WAITING)) == 200
    results = subject.ask(*(Acquire(f"{number}", DATA, is_queued=True) for number in range(3)))
    assert [type(result) for result in results] == [Queued, Queued, Refused]


def test_a_pool_in_free_mode_has_no_queue():
    subject = pool(0, grant_mode=GrantMode.FREE)
    (first,) = subject.ask(Acquire("a", is_queued=True))
    assert isinstance(first, Refused)


def test_fifo_serves_by_age_alone():
    subject = pool(1, grant_mode=GrantMode.FIFO)
    (first,) = subject.ask(Acquire("a", ML))
    subject.ask(Acquire("b", ML, is_queued=True))
    subject.pass_time(1)
    subject.ask(Acquire("c", DATA, is_queued=True, priority=100))
    subject.ask(Release(held(first).id))
    assert [lease.token for lease in subject.last.promoted] == ["b"]


def test_priority_decides_within_a_scope_alone():
    subject = pool(1)
    (first,) = subject.ask(Acquire("a", Scope(project="other")))
    subject.ask(Acquire("low", ML, is_queued=True))
    subject.pass_time(1)
    subject.ask(Acquire("high", ML, is_queued=True, priority=9), Acquire("theirs", DATA, is_queued=True))
    subject.ask(Release(held(first).id))
    (second,) = subject.last.promoted
    assert second.token == "high"
    subject.ask(Release(second.id))
    # ML and DATA use nothing, and ML had its turn: its share does not depend on priorities.
    assert subject.last.promoted[0].token == "theirs"


def test_a_large_request_is_overtaken_for_thirty_seconds_alone():
    subject = pool(2)
    first, second = subject.ask(Acquire("a"), Acquire("b"))
    subject.ask(Acquire("large", units=2, is_queued=True))
    subject.ask(Release(held(first).id))
    (small,) = subject.ask(Acquire("small", ML))
    assert isinstance(small, Granted)
    subject.pass_time(31)
    subject.ask(Release(held(small).id))
    (late,) = subject.ask(Acquire("late", ML))
    assert reasons(late) == {Reason.QUEUE}
    subject.ask(Release(held(second).id))
    assert [lease.token for lease in subject.last.promoted] == ["large"]


def test_a_lease_that_was_renewed_meanwhile_does_not_expire():
    subject = pool()
    (first,) = subject.ask(Acquire("a"))
    end = Release(held(first).id, if_expired=True, state=LeaseState.EXPIRED)
    assert subject.ask(end) == [Released(None)]
    subject.pass_time(300)
    (ended,) = subject.ask(end)
    assert isinstance(ended, Released)
    assert ended.lease is not None
    assert ended.lease.state is LeaseState.EXPIRED
