"""Which answers for watchers become ready answers."""

from __future__ import annotations

from controlplane.scopes import Scope
from overrides.api.effective.fast_path.requests import question_of
from overrides.api.effective.fast_path.snapshot import Snapshot
from overrides.api.effective.watching.kept_answers import KeptAnswers
from overrides.api.effective.watching.topics import FLYTE, NATIVE, VALUES, Answer, TopicKey

ANSWER = Answer(b'"2"', b"body")


def test_an_answer_is_found_by_its_question_until_a_change_drops_it():
    snapshot = Snapshot(10**9)
    kept, scope = KeptAnswers(snapshot), Scope("d", "p")
    keys = [TopicKey(scope, "task_resource", form) for form in (NATIVE, FLYTE, VALUES)]

    kept.fill(kept.reserve(keys), dict.fromkeys(keys, ANSWER))

    assert len(snapshot) == 2
    for query in (b"", b"&strategy=flyte"):
        question = question_of(b"project=p&domain=d&resource_type=task_resource&wait=9" + query)
        assert (snapshot.get(question.key).body, snapshot.get(question.key).etag) == (b"body", b'"2"')
    assert snapshot.drop(Scope(project="p")) == 2


def test_what_was_not_computed_leaves_nothing():
    snapshot = Snapshot(10**9)
    kept, keys = KeptAnswers(snapshot), [TopicKey(Scope(), form=NATIVE), TopicKey(Scope("d"), form=NATIVE)]
    entries = kept.reserve(keys)
    snapshot.drop(Scope("d"))

    kept.fill(entries, {keys[0]: Answer(b'"1"'), keys[1]: ANSWER})

    assert (len(snapshot), snapshot._entries_by_rung) == (0, {})
