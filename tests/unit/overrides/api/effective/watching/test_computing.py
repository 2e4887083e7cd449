"""One topic that cannot be computed keeps no news from the others."""

from __future__ import annotations

import pytest
from django.db import OperationalError

from controlplane.errors import UnknownProject
from controlplane.scopes import Scope
from overrides.api.effective.watching import computing
from overrides.api.effective.watching.topics import Answer, TopicKey

KEYS = [TopicKey(Scope(project=f"p{number}")) for number in range(7)]


@pytest.fixture
def fail(monkeypatch):
    """Let the computation of one topic raise an error."""

    def arrange(error):
        def compute(keys, etags):
            if KEYS[4] in keys:
                raise error
            return [Answer(key.scope.project.encode()) for key in keys]

        monkeypatch.setattr(computing, "_compute_answers", compute)

    return arrange


@pytest.mark.parametrize("error", [UnknownProject("p4"), ZeroDivisionError("unforeseen")])
def test_the_others_get_their_answers(fail, error):
    fail(error)

    answers = dict(computing._answers(KEYS, {}))

    assert answers.pop(KEYS[4]).is_refused
    assert [answer.etag for answer in answers.values()] == [b"p0", b"p1", b"p2", b"p3", b"p5", b"p6"]


def test_without_postgres_nobody_is_refused(fail):
    fail(OperationalError("the connection was lost"))

    with pytest.raises(OperationalError):
        dict(computing._answers(KEYS, {}))
