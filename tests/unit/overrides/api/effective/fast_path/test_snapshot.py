"""The snapshot of ready answers: a change drops what it covers, and nothing else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from controlplane.scopes import SHAPES, Scope
from overrides.api.effective.fast_path.snapshot import Snapshot, rung_of

ROOMY = 10**9
NAMES = st.sampled_from(["a", "b"])


@st.composite
def scopes(draw) -> Scope:
    shape = draw(st.sampled_from(sorted(SHAPES, key=SHAPES.__getitem__)))
    return Scope(**{name: draw(NAMES) for name in sorted(shape)})


def key_of(scope: Scope, resource_type: str = ""):
    return (*rung_of(scope), resource_type)


def keep(snapshot: Snapshot, scope: Scope, resource_type: str = "", body: bytes = b"x"):
    entry = snapshot.reserve(key_of(scope, resource_type), scope)
    snapshot.fill(entry, body, b'"e"')
    return entry


@given(st.lists(scopes(), unique=True), scopes())
def test_a_change_drops_exactly_what_it_covers(remaining, changed):
    snapshot = Snapshot(ROOMY)
    for scope in remaining:
        keep(snapshot, scope)

    dropped = snapshot.drop(changed)

    left = [scope for scope in remaining if snapshot.get(key_of(scope))]
    assert left == [scope for scope in remaining if not changed.covers(scope)]
    assert dropped == len(remaining) - len(left)


@given(st.lists(scopes(), unique=True), st.lists(scopes()))
def test_nothing_is_left_behind(remaining, changed):
    snapshot = Snapshot(ROOMY)
    for scope in remaining:
        keep(snapshot, scope)
    for scope in changed:
        snapshot.drop(scope)

    snapshot.clear()

    assert (len(snapshot), snapshot._size, snapshot._entries_by_rung) == (0, 0, {})


def test_an_answer_that_a_change_has_overtaken_is_not_kept():
    snapshot = Snapshot(ROOMY)
    scope = Scope(project="a", domain="b")
    entry = snapshot.reserve(key_of(scope), scope)

    snapshot.drop(Scope(project="a"))
    snapshot.fill(entry, b"old", b'"e"')

    assert snapshot.get(key_of(scope)) is None
    assert entry.body == b"old"


def test_a_change_elsewhere_leaves_what_is_being_computed():
    snapshot = Snapshot(ROOMY)
    scope = Scope(project="a", domain="b")
    entry = snapshot.reserve(key_of(scope), scope)

    snapshot.drop(Scope(project="b"))
    snapshot.fill(entry, b"good", b'"e"')

    assert snapshot.get(key_of(scope)) is entry


def test_the_longest_unused_goes_when_there_is_no_room():
    snapshot = Snapshot(10_000)
    first, second, third = (Scope(project=name) for name in "abc")
    keep(snapshot, first, body=b"x" * 2000)
    keep(snapshot, second, body=b"x" * 2000)
    snapshot.get(key_of(first))

    keep(snapshot, third, body=b"x" * 2000)

    assert [bool(snapshot.get(key_of(first))) for first in (first, second, third)] == [True, False, True]


def test_an_answer_larger_than_all_room_is_not_kept():
    snapshot = Snapshot(5_000)

    entry = keep(snapshot, Scope(), body=b"x" * 6000)

    assert snapshot.get(key_of(Scope())) is None
    assert (len(entry.body), len(snapshot), snapshot._size) == (6000, 0, 0)


def test_an_answer_that_is_computed_twice_at_once_is_kept_once():
    snapshot = Snapshot(ROOMY)
    scope = Scope(project="a")
    entries = [snapshot.reserve(key_of(scope), scope) for _ in range(2)]
    for entry in entries:
        snapshot.fill(entry, b"x", b'"e"')

    assert snapshot.get(key_of(scope)) is entries[1]
    assert snapshot.drop(scope) == 1
    assert (len(snapshot), snapshot._size, snapshot._entries_by_rung) == (0, 0, {})
