"""Headers that fast paths learn from Django: those that all callers share, and no others."""

from __future__ import annotations

import pytest

from controlplane.web.learned_headers import LearnedHeaders

SHARED = [(b"cache-control", b"no-store"), (b"vary", b"Origin")]


@pytest.mark.parametrize(
    "own",
    [
        (b"x-request-id", b"r-1"),
        (b"etag", b'"v1"'),
        (b"ratelimit", b'"token";r=5;t=9'),
        (b"content-length", b"7"),
    ],
)
def test_what_belongs_to_one_request_is_not_learned(own: tuple[bytes, bytes]) -> None:
    learned = LearnedHeaders()

    learned.learn(is_secure=False, status=200, headers=[*SHARED, own])

    kept = learned.of(is_secure=False, status=200)
    assert kept is not None
    assert list(kept.headers) == SHARED


@pytest.mark.parametrize("own", [(b"set-cookie", b"a=b"), (b"retry-after", b"5")])
def test_an_answer_for_one_caller_teaches_nothing(own: tuple[bytes, bytes]) -> None:
    learned = LearnedHeaders()

    learned.learn(is_secure=False, status=200, headers=[*SHARED, own])

    assert learned.of(is_secure=False, status=200) is None
