"""A manager who manages a whole document restates it: the short way gives what the long way gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from overrides.field_managers import apply_attributes, manages_alone, overlay_attributes
from overrides.resolution.leaves import leaf_names, leaves, name_of
from overrides.resolution.merging import Combine, MergeRule, Strategy, canonical

PLAIN = MergeRule(Strategy.MERGE)
KEYED = MergeRule(Strategy.MERGE, {("items",): "key"})
APPENDED = MergeRule(Strategy.MERGE, combine={("a",): Combine.APPEND_UNIQUE})
_name = st.sampled_from(["a", "b", "a/b", "~"])
_value = st.recursive(
    st.sampled_from([None, True, 1, 1.0, "x", [], {}, [1, 2], [{"key": "u"}]]),
    lambda below: st.dictionaries(_name, below, max_size=3),
    max_leaves=5,
)
documents = st.dictionaries(_name, _value, max_size=3)


@given(documents, documents)
def test_restating_a_document_gives_the_same_either_way(current, stated):
    owners = apply_attributes(None, {}, current, PLAIN, "git").owners

    short = apply_attributes(None, {}, stated, PLAIN, "git")

    assert manages_alone(current, owners, PLAIN, "git")
    long = overlay_attributes(current, owners, stated, PLAIN, "git")
    assert canonical([short.attributes, short.owners]) == canonical([long.attributes, long.owners])
    assert long.conflicts == ()


def test_nobody_manages_alone_what_is_shared_unmanaged_or_a_list_of_items():
    current = {"a": [1], "b": 2}
    alone = {"/a": ["git"], "/b": ["git"]}

    assert manages_alone(current, alone, PLAIN, "git")
    assert not manages_alone(current, alone, PLAIN, "team")
    assert not manages_alone(current, {**alone, "/b": ["git", "team"]}, PLAIN, "git")
    assert not manages_alone(current, {"/a": ["git"]}, PLAIN, "git")
    assert not manages_alone(current, alone, KEYED, "git")
    assert not manages_alone(current, alone, APPENDED, "git")


@given(documents, st.sampled_from([PLAIN, KEYED, APPENDED]))
def test_leaf_names_are_the_names_of_the_leaves(document, rule):
    assert leaf_names(document, rule) == [name_of(path) for path, _ in leaves(document, rule)]
