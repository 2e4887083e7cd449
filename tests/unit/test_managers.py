"""The laws of values with managers: nobody undoes what another manages without being told."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from overrides.leaves import leaves, name_of
from overrides.merging import MergeRule, Strategy, canonical
from overrides.ownership import applied, replaced

RULE = MergeRule(Strategy.MERGE, {("items",): "key"})
_values = st.one_of(
    st.none(), st.integers(0, 2), st.dictionaries(st.sampled_from("xy"), st.integers(0, 2), max_size=2)
)
_items = st.lists(
    st.fixed_dictionaries({"key": st.sampled_from("uv")}, optional={"value": st.integers(0, 2)}),
    max_size=2,
    unique_by=lambda item: item["key"],
)
documents = st.builds(
    lambda free, items: {**free, **({} if items is None else {"items": items})},
    st.dictionaries(st.sampled_from("abc"), _values, max_size=3),
    st.one_of(st.none(), _items),
)


def stated(document: Any) -> dict[str, str]:
    if document is None:
        return {}
    return {name_of(path): canonical(value) for path, value in leaves(document, RULE)}


@given(documents)
def test_applying_to_nothing_states_just_that_and_manages_all_of_it(wanted):
    outcome = applied(None, {}, wanted, RULE, "git")

    assert canonical(outcome.attributes) == canonical(wanted)
    assert outcome.owners == {leaf: ["git"] for leaf in stated(wanted)}
    assert outcome.claimed == ()


@given(documents, documents)
def test_applying_twice_is_as_applying_once(current, wanted):
    first = applied(current, {}, wanted, RULE, "git")

    second = applied(first.attributes, first.owners, wanted, RULE, "git")

    assert canonical(second.attributes) == canonical(first.attributes)
    assert (second.owners, second.claimed) == (first.owners, ())


@given(documents, documents)
def test_what_is_wanted_stands_afterwards(current, wanted):
    assume(wanted != {})
    outcome = applied(current, {}, wanted, RULE, "git")

    empties = {leaf for leaf, text in stated(wanted).items() if text in ("{}", "[]")}
    for leaf, text in stated(wanted).items():
        assert leaf in empties or stated(outcome.attributes)[leaf] == text


@given(documents, documents, documents)
def test_what_only_another_manages_changes_only_with_a_claim(base, mine, theirs):
    standing = applied(base, {}, theirs, RULE, "team")

    outcome = applied(standing.attributes, standing.owners, mine, RULE, "git")

    before, after = stated(standing.attributes), stated(outcome.attributes)
    claimed = {one.leaf for one in outcome.claimed}
    for leaf, managers in standing.owners.items():
        if managers == ["team"] and before.get(leaf) not in ("{}", "[]"):
            assert after.get(leaf) == before[leaf] or leaf in claimed


def test_a_value_that_two_state_alike_stays_until_both_give_it_up():
    one = applied(None, {}, {"a": 1}, RULE, "git")
    both = applied(one.attributes, one.owners, {"a": 1}, RULE, "team")
    assert both.owners == {"/a": ["git", "team"]}

    left = applied(both.attributes, both.owners, {}, RULE, "git")
    gone = applied(left.attributes, left.owners, None, RULE, "team")

    assert (left.attributes, left.owners) == ({"a": 1}, {"/a": ["team"]})
    assert gone.attributes is None


def test_what_nobody_manages_stays_when_a_manager_gives_up():
    outcome = applied({"a": 1, "b": 2}, {"/a": ["git"]}, None, RULE, "git")

    assert outcome.attributes == {"b": 2}


def test_changing_a_shared_value_claims_the_other():
    outcome = applied({"a": 1}, {"/a": ["git", "team"]}, {"a": 2}, RULE, "git")

    assert [(one.leaf, one.managers) for one in outcome.claimed] == [("/a", ("team",))]
    assert outcome.owners == {"/a": ["git"]}


def test_a_null_above_anothers_value_claims_it():
    outcome = applied({"a": {"x": 1}}, {"/a/x": ["team"]}, {"a": None}, RULE, "git")

    assert [one.leaf for one in outcome.claimed] == ["/a/x"]
    assert outcome.attributes == {"a": None}


def test_an_item_of_a_named_list_is_managed_by_its_name():
    first = applied(None, {}, {"items": [{"key": "u", "value": 1}]}, RULE, "git")

    second = applied(first.attributes, first.owners, {"items": [{"key": "v", "value": 2}]}, RULE, "team")
    left = applied(second.attributes, second.owners, None, RULE, "git")

    assert second.attributes == {"items": [{"key": "u", "value": 1}, {"key": "v", "value": 2}]}
    assert left.attributes == {"items": [{"key": "v", "value": 2}]}


@given(documents, documents)
def test_replacing_states_exactly_what_is_said(current, wanted):
    outcome = replaced(current, {}, wanted, RULE, "")

    assert (outcome.attributes, outcome.owners, outcome.claimed) == (wanted, {}, ())


def test_replacing_leaves_managers_of_what_it_does_not_change():
    outcome = replaced({"a": 1, "b": 2}, {"/a": ["git"], "/b": ["team"]}, {"a": 1, "b": 3}, RULE, "team")

    assert outcome.owners == {"/a": ["git"], "/b": ["team"]}
    assert outcome.claimed == ()
