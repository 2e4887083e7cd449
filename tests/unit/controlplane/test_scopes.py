"""The ladder: six shapes, their order, who covers whom."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.errors import InvalidScope
from controlplane.scopes import SEGMENTS, SHAPES, Level, Scope

WORDS = ["a", "b"]
LEGAL = [
    Scope(**dict(zip(sorted(filled), words, strict=True)))
    for filled in SHAPES
    for words in itertools.product(WORDS, repeat=len(filled))
]
scopes = st.sampled_from(LEGAL)


def test_exactly_six_shapes_are_legal():
    legal = 0
    for filled in itertools.product(["", "x"], repeat=4):
        try:
            Scope(**dict(zip(SEGMENTS, filled, strict=True)))
            legal += 1
        except InvalidScope:
            pass

    assert legal == len(Level) == 6


def test_project_is_more_specific_than_domain():
    assert Scope(project="p").level > Scope(domain="d").level


@pytest.mark.parametrize(
    ("segments", "missing"),
    [
        ({"workflow": "w"}, "domain"),
        ({"project": "p", "workflow": "w"}, "domain"),
        ({"domain": "d", "workflow": "w"}, "project"),
        ({"project": "p", "domain": "d", "launch_plan": "l"}, "workflow"),
    ],
)
def test_an_illegal_shape_names_what_is_missing(segments, missing):
    with pytest.raises(InvalidScope) as raised:
        Scope(**segments)

    assert raised.value.errors[0].pointer == f"?{missing}"


@pytest.mark.parametrize("word", ["a\x00b", "a\nb", "\ud800", " a", "a ", "x" * 256])
def test_a_segment_that_cannot_be_stored_or_seen_is_refused(word):
    with pytest.raises(InvalidScope):
        Scope(project=word)


@given(scopes, scopes)
def test_covering_is_antisymmetric_and_never_goes_up(scope, other):
    if scope.covers(other):
        assert scope.level <= other.level
        assert not other.covers(scope) or scope == other


@given(scopes, scopes, scopes)
def test_covering_is_transitive(first, two, three):
    if first.covers(two) and two.covers(three):
        assert first.covers(three)


@given(scopes)
def test_the_ladder_is_every_scope_that_covers_least_specific_first(scope):
    ladder = list(scope.ladder())

    assert set(ladder) == {other for other in LEGAL if other.covers(scope)}
    assert [scope.level for scope in ladder] == sorted(scope.level for scope in ladder)
    assert ladder[0] == Scope()
    assert ladder[-1] == scope
