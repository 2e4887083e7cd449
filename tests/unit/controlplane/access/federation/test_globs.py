"""Patterns for claims mean what a regular expression would mean, without its cost."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from controlplane.access.federation.globs import matches


def oracle(pattern: str, text: str) -> bool:
    tokens = re.findall(r"\*+|[^*]+", pattern)
    regex = "".join(
        re.escape(token) if "*" not in token else "[^/:]*" if token == "*" else ".*" for token in tokens
    )
    return re.fullmatch(regex, text, re.DOTALL) is not None


@given(st.text("ab/:*\n", max_size=8), st.text("ab/:*\n", max_size=10))
@example("*", "")
@example("**", "")
@example("a*b", "ab")
@example("a***b", "a/b")
@example("*a*", "aa")
def test_a_pattern_matches_what_its_regular_expression_matches(pattern, text):
    assert matches(pattern, text) == oracle(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("system:serviceaccount:prod:*", "system:serviceaccount:prod:agent", True),
        ("system:serviceaccount:*:agent", "system:serviceaccount:evil:x:agent", False),
        ("repo:acme/*:environment:prod", "repo:acme/app:environment:prod", True),
        ("repo:acme/*:environment:prod", "repo:acme/app:ref:refs/heads/:environment:prod", False),
        ("refs/heads/*", "refs/heads/feature/one", False),
        ("refs/heads/**", "refs/heads/feature/one", True),
        ("main", "main ", False),
        ("main", "Main", False),
        ("", "", True),
        ("", "a", False),
    ],
)
def test_a_wildcard_does_not_reach_into_the_next_part(pattern, text, expected):
    assert matches(pattern, text) is expected


def test_a_hostile_pattern_ends():
    # A backtracking matcher would take years.
    assert not matches("*a**" * 60 + "c", "a" * 8000)
    assert not matches("a**" * 80 + "b", "a" * 8000)
