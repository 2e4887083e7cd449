"""Which watcher gets which news, and what is computed for it."""

from __future__ import annotations

import pytest

from controlplane.scopes import Scope
from overrides.api.effective.watching.topics import Answer, News, TopicKey, Topics

DEV, PROD = Scope("development", "p"), Scope("production", "p")
KEY, OTHER = TopicKey(DEV), TopicKey(PROD)
ONE, TWO, THREE = (Answer(f'"{number}"'.encode(), b"body") for number in (1, 2, 3))
SAME = Answer(ONE.etag)


@pytest.fixture
def topics():
    topics = Topics()
    topics.join("ann", {KEY: ONE.etag, OTHER: ONE.etag}, is_current=True)
    topics.join("ben", {KEY: ONE.etag}, is_current=True)
    assert topics.stale() == {}
    return topics


@pytest.mark.parametrize(
    ("changed", "stale"),
    [
        (Scope(), {KEY, OTHER}),
        (Scope(project="p"), {KEY, OTHER}),
        (Scope("development"), {KEY}),
        (DEV, {KEY}),
        (Scope("development", "p", "w"), set()),
        (Scope(project="q"), set()),
    ],
)
def test_a_change_concerns_what_its_scope_covers(topics, changed, stale):
    topics.change([changed])

    assert (topics.has_stale(), topics.stale().keys()) == (bool(stale), stale)
    assert not topics.has_stale()


def test_everybody_is_told_of_an_answer_that_they_do_not_have_once(topics):
    topics.change([DEV])
    assert topics.stale() == {KEY: ONE.etag}

    assert topics.settle({KEY: TWO}) == {"ann": [News(KEY, TWO)], "ben": [News(KEY, TWO)]}
    assert topics.settle({KEY: Answer(TWO.etag)}) == {}


def test_nobody_is_told_of_the_answer_that_they_have(topics):
    topics.change([DEV])
    topics.stale()

    assert topics.settle({KEY: SAME}) == {}
    assert not topics.has_stale()


def test_who_joins_with_another_answer_has_it_computed(topics):
    topics.join("cy", {KEY: TWO.etag}, is_current=False)

    # Without an ETag, so that the body is computed too.
    assert topics.stale() == {KEY: b""}
    assert topics.settle({KEY: ONE}) == {"cy": [News(KEY, ONE)]}


def test_who_joins_during_a_computation_is_not_told_what_is_older_than_theirs(topics):
    topics.change([DEV])
    topics.stale()
    topics.join("cy", {KEY: THREE.etag}, is_current=False)

    assert topics.settle({KEY: TWO}).keys() == {"ann", "ben"}
    assert topics.stale() == {KEY: b""}
    assert topics.settle({KEY: THREE}).keys() == {"ann", "ben"}


def test_a_first_watcher_that_may_be_behind_has_the_answer_computed():
    topics = Topics()
    topics.join("ann", {KEY: ONE.etag}, is_current=False)

    assert topics.stale() == {KEY: b""}
    assert topics.settle({KEY: ONE}) == {}


def test_what_failed_is_computed_again(topics):
    topics.change([DEV])
    topics.put_back(topics.stale())

    assert topics.stale() == {KEY: ONE.etag}


def test_a_refusal_is_told_to_all(topics):
    refusal = Answer(is_refused=True)

    assert topics.settle({KEY: refusal}).keys() == {"ann", "ben"}


def test_nothing_is_kept_of_those_who_leave(topics):
    topics.change([Scope()])
    topics.leave("ann", [KEY, OTHER])
    assert topics.stale().keys() == {KEY}
    topics.leave("ben", [KEY])
    topics.leave("ben", [KEY])

    topics.change([Scope()])
    assert (len(topics), topics.stale(), topics._by_rung) == (0, {}, {})
    assert topics.settle({KEY: TWO}) == {}
