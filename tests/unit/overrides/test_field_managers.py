"""The laws of `applied` over everything that managers and nobody in particular can have brought about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from overrides.field_managers import HAND, Owners, apply_attributes, overlay_attributes, replace_attributes
from overrides.resolution.leaves import leaves, name_of
from overrides.resolution.merging import Combine, MergeRule, Strategy, canonical

RULE = MergeRule(
    Strategy.MERGE,
    {("items",): "key", ("deep", "items"): "key"},
    {("tags",): Combine.APPEND_UNIQUE, ("whole",): Combine.REPLACE, ("least",): Combine.MIN},
)
rules = st.sampled_from([RULE, MergeRule(Strategy.REPLACE), MergeRule(Strategy.MERGE)])
MANAGERS = ["git", "team", HAND]

_number = st.integers(0, 2)
_small = st.dictionaries(st.sampled_from("xy"), _number, max_size=2)
_value = st.none() | _number | _small | st.lists(_number, max_size=2)
_key = {"key": st.sampled_from("uv")}
_item = st.fixed_dictionaries(_key, optional={"value": _value, "more": _number}) | st.fixed_dictionaries(
    {**_key, "$remove": st.just(True)}
)
_items = st.lists(_item, max_size=2, unique_by=lambda item: item["key"])
documents = st.fixed_dictionaries(
    {},
    optional={
        "a/~": _value,
        "b": _value,
        "items": st.none() | _items,
        "deep": st.none() | st.fixed_dictionaries({}, optional={"items": _items, "x": _number}),
        "tags": st.none() | st.lists(_number | _small, max_size=2, unique_by=canonical),
        "whole": st.none() | _small,
        "least": _number,
    },
)
maybe = st.none() | documents


@dataclass
class Stored:
    """One override and those who write it."""

    rule: MergeRule
    attributes: Any = None
    owners: Owners = field(default_factory=dict)

    def apply(self, manager: str, wanted: Any, *, force: bool = False) -> bool:
        """True if it was written: nobody objected, or nobody was asked."""
        return self._take(apply_attributes(self.attributes, self.owners, wanted, self.rule, manager), force)

    def put(self, manager: str, wanted: Any, *, force: bool = False) -> bool:
        return self._take(replace_attributes(self.attributes, self.owners, wanted, self.rule, manager), force)

    def _take(self, outcome: Any, force: bool) -> bool:
        if outcome.conflicts and not force:
            return False
        self.attributes, self.owners = outcome.attributes, outcome.owners
        return True

    @property
    def leaves(self) -> dict[str, str]:
        return stated(self.attributes, self.rule)


def stated(document: Any, rule: MergeRule) -> dict[str, str]:
    if document is None:
        return {}
    return {name_of(path): canonical(value) for path, value in leaves(document, rule)}


@st.composite
def histories(draw: Any) -> Stored:
    """Whatever some applies and replacements leave behind."""
    stored = Stored(draw(rules))
    for _ in range(draw(st.integers(0, 4))):
        force = draw(st.booleans())
        if draw(st.integers(0, 3)):
            stored.apply(draw(st.sampled_from(MANAGERS)), draw(maybe), force=force)
        else:
            stored.put(draw(st.sampled_from([*MANAGERS, ""])), draw(documents), force=force)
    return stored


def holds_something(text: str) -> bool:
    """An empty object or list gives way to what comes to stand in it: nobody is overruled."""
    return text not in ("{}", "[]")


def related(leaf: str, other: str) -> bool:
    """True if one of the places is the other or lies in it."""
    return leaf == other or leaf.startswith(f"{other}/") or other.startswith(f"{leaf}/")


def of_others(owners: Owners, manager: str) -> Mapping[str, set[str]]:
    other_managers = {leaf: set(managers) - {manager, HAND} for leaf, managers in owners.items()}
    return {leaf: managers for leaf, managers in other_managers.items() if managers}


@given(histories(), maybe, st.booleans())
def test_the_short_ways_come_to_what_the_long_way_comes_to(stored, attributes, again):
    attributes = stored.attributes if again else attributes

    short = apply_attributes(stored.attributes, stored.owners, attributes, stored.rule, "git")
    long = overlay_attributes(stored.attributes, stored.owners, attributes, stored.rule, "git")

    event(f"nothing changes: {short.attributes is stored.attributes}")
    assert canonical([short.attributes, short.owners]) == canonical([long.attributes, long.owners])
    assert short.conflicts == long.conflicts


@given(histories(), maybe)
def test_applying_again_changes_nothing_and_claims_nothing(stored, attributes):
    stored.apply("git", attributes, force=True)

    again = apply_attributes(stored.attributes, stored.owners, attributes, stored.rule, "git")

    assert canonical(again.attributes) == canonical(stored.attributes)
    assert (again.owners, again.conflicts) == (stored.owners, ())


@given(histories(), documents)
def test_what_is_wanted_stands_afterwards_and_is_managed(stored, attributes):
    stored.apply("git", attributes, force=True)

    for leaf, text in stated(attributes, stored.rule).items():
        if holds_something(text):
            assert stored.leaves[leaf] == text
            assert "git" in stored.owners[leaf]


@given(histories(), maybe)
def test_what_others_manage_changes_or_goes_only_if_it_is_claimed_from_them(stored, attributes):
    outcome = apply_attributes(stored.attributes, stored.owners, attributes, stored.rule, "git")

    after = stated(outcome.attributes, stored.rule)
    claimed = {conflict.leaf: set(conflict.managers) for conflict in outcome.conflicts}
    event(f"claimed {len(claimed)}")
    for leaf, managers in of_others(stored.owners, "git").items():
        if leaf in claimed:
            assert claimed[leaf] == managers
        elif holds_something(stored.leaves[leaf]):
            assert after[leaf] == stored.leaves[leaf]
            assert set(outcome.owners[leaf]) >= managers


@given(histories(), maybe)
def test_only_what_would_change_is_claimed(stored, attributes):
    outcome = apply_attributes(stored.attributes, stored.owners, attributes, stored.rule, "git")

    after = stated(outcome.attributes, stored.rule)
    names = [conflict.leaf for conflict in outcome.conflicts]
    assert names == sorted(set(names))
    for leaf in names:
        assert after.get(leaf) != stored.leaves[leaf]


@given(histories(), maybe)
def test_what_nobody_manages_stays_where_nothing_is_wanted_instead(stored, attributes):
    outcome = apply_attributes(stored.attributes, stored.owners, attributes, stored.rule, "git")

    after, desired = stated(outcome.attributes, stored.rule), stated(attributes, stored.rule)
    for leaf, text in stored.leaves.items():
        if leaf not in stored.owners and not any(related(leaf, other) for other in desired):
            assert after[leaf] == text


@given(histories(), maybe)
def test_what_a_manager_alone_wanted_and_wants_no_more_is_gone(stored, attributes):
    outcome = apply_attributes(stored.attributes, stored.owners, attributes, stored.rule, "git")

    after, desired = stated(outcome.attributes, stored.rule), stated(attributes, stored.rule)
    for leaf, managers in stored.owners.items():
        if managers == ["git"] and leaf not in desired:
            # Only the name of an item of which others say something has to stay.
            item = leaf.removesuffix("/key")
            named = leaf.endswith("]/key") and any(
                other.startswith(f"{item}/") for other in {*after} - {leaf}
            )
            assert leaf not in after or named


@given(histories(), maybe)
def test_what_is_shared_stays_with_those_who_still_want_it(stored, attributes):
    outcome = apply_attributes(stored.attributes, stored.owners, attributes, stored.rule, "git")

    gone = {conflict.leaf for conflict in outcome.conflicts}
    desired = stated(attributes, stored.rule)
    for leaf, managers in stored.owners.items():
        shared = "git" in managers and len(managers) > 1
        if shared and leaf not in desired and leaf not in gone and holds_something(stored.leaves[leaf]):
            assert outcome.owners[leaf] == [manager for manager in managers if manager != "git"]


@given(histories(), maybe)
def test_managers_are_named_only_of_leaves_that_stand_each_once_and_in_order(stored, attributes):
    outcome = apply_attributes(stored.attributes, stored.owners, attributes, stored.rule, "git")

    assert outcome.owners.keys() <= stated(outcome.attributes, stored.rule).keys()
    for managers in outcome.owners.values():
        assert managers == sorted(set(managers)) != []


@given(histories(), maybe)
def test_nothing_that_is_given_is_changed_in_place(stored, attributes):
    before = canonical([stored.attributes, stored.owners, attributes])

    apply_attributes(stored.attributes, stored.owners, attributes, stored.rule, "git")

    assert canonical([stored.attributes, stored.owners, attributes]) == before


@given(rules, documents, documents)
def test_two_managers_who_agree_come_to_the_same_in_either_order(rule, ours, other):
    first, second = Stored(rule), Stored(rule)
    agreed = first.apply("git", ours) and first.apply("team", other)
    assume(agreed)

    assert second.apply("team", other)
    assert second.apply("git", ours)

    # Lists of named things keep the order in which their items came, so leaves are compared.
    assert second.leaves == first.leaves
    assert second.owners == first.owners


@given(rules, documents, documents)
def test_two_managers_who_disagree_do_so_in_either_order(rule, ours, other):
    first, second = Stored(rule), Stored(rule)
    first.apply("git", ours)
    second.apply("team", other)

    refused = not first.apply("team", other)

    assert (not second.apply("git", ours)) == refused


@given(rules, documents, documents)
def test_who_comes_and_goes_without_a_claim_leaves_no_trace(rule, theirs, ours):
    stored = Stored(rule)
    stored.apply("team", theirs)
    before = (canonical(stored.attributes), stored.owners)
    assume(all(map(holds_something, stored.leaves.values())))
    assume(stored.apply("git", ours))

    assert stored.apply("git", None)

    assert (canonical(stored.attributes), stored.owners) == before


@given(histories())
def test_when_all_have_given_up_only_what_nobody_manages_is_left(stored):
    unmanaged = {leaf: text for leaf, text in stored.leaves.items() if leaf not in stored.owners}

    for manager in MANAGERS:
        assert stored.apply(manager, None)

    left = {leaf: text for leaf, text in stored.leaves.items() if not leaf.endswith("]/key")}
    assert left == {leaf: text for leaf, text in unmanaged.items() if not leaf.endswith("]/key")}
    assert stored.owners == {}


@given(histories(), maybe)
def test_who_forces_takes_over_alone(stored, attributes):
    outcome = apply_attributes(stored.attributes, stored.owners, attributes, stored.rule, "git")

    for conflict in outcome.conflicts:
        assert outcome.owners.get(conflict.leaf, ["git"]) == ["git"]


@given(histories(), maybe)
def test_replacing_claims_exactly_what_of_others_would_differ(stored, attributes):
    outcome = replace_attributes(stored.attributes, stored.owners, attributes, stored.rule, "git")

    after = stated(attributes, stored.rule)
    differs = {leaf for leaf, text in stored.leaves.items() if after.get(leaf) != text}
    assert {conflict.leaf for conflict in outcome.conflicts} == differs & of_others(
        stored.owners, "git"
    ).keys()
    assert outcome.attributes is attributes


@given(histories(), documents)
def test_replacing_manages_what_it_changes_and_leaves_the_rest_to_whom_it_belongs(stored, attributes):
    outcome = replace_attributes(stored.attributes, stored.owners, attributes, stored.rule, "git")

    for leaf, text in stated(attributes, stored.rule).items():
        unchanged = stored.leaves.get(leaf) == text
        assert outcome.owners.get(leaf, []) == (stored.owners.get(leaf, []) if unchanged else ["git"])


# Base (of team), what git wants, what stands then, whom git would overrule.
CASES = {
    "a null beside": ({"a": 1}, {"b": None}, {"a": 1, "b": None}, []),
    "a null above": ({"a": {"x": 1}}, {"a": None}, {"a": None}, ["/a/x"]),
    "a value below a null": ({"a": None}, {"a": {"x": 1}}, {"a": {"x": 1}}, ["/a"]),
    "a scalar above": ({"a": {"x": 1, "y": 2}}, {"a": 3}, {"a": 3}, ["/a/x", "/a/y"]),
    "the same value": ({"a": {"x": 1}}, {"a": {"x": 1}}, {"a": {"x": 1}}, []),
    "an equal number of another kind": ({"a": 1}, {"a": 1.0}, {"a": 1.0}, ["/a"]),
    "an empty object around": ({"a": {"x": 1}}, {"a": {}}, {"a": {"x": 1}}, []),
    "an empty document": ({"a": 1}, {}, {"a": 1}, []),
    "nothing": ({"a": 1}, None, {"a": 1}, []),
    "an item beside": (
        {"items": [{"key": "u"}]},
        {"items": [{"key": "v"}]},
        [{"key": "u"}, {"key": "v"}],
        [],
    ),
    "within an item": (
        {"items": [{"key": "u", "value": 1}]},
        {"items": [{"key": "u", "more": 2}]},
        [{"key": "u", "value": 1, "more": 2}],
        [],
    ),
    "an item removed": (
        {"items": [{"key": "u", "value": 1}]},
        {"items": [{"key": "u", "$remove": True}]},
        [{"key": "u", "$remove": True}],
        ["/items/[key=u]/key", "/items/[key=u]/value"],
    ),
    "an item instead of its removal": (
        {"items": [{"key": "u", "$remove": True}]},
        {"items": [{"key": "u", "value": 1}]},
        [{"key": "u", "value": 1}],
        ["/items/[key=u]"],
    ),
    "a list emptied": ({"items": [{"key": "u"}]}, {"items": None}, None, ["/items/[key=u]/key"]),
    "a tag beside": ({"tags": ["a"]}, {"tags": ["b", "a"]}, ["a", "b"], []),
    "a plain list": ({"list": [1]}, {"list": [1, 2]}, [1, 2], ["/list"]),
    "a whole object": ({"whole": {"x": 1}}, {"whole": {"y": 2}}, {"x": 1, "y": 2}, []),
    "an awkward name": ({"a/~": {"x": 1}}, {"a/~": {"x": 2}}, {"a/~": {"x": 2}}, ["/a~1~0/x"]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_manager_meets_another(case):
    theirs, ours, expected, overruled = CASES[case]
    stored = Stored(RULE)
    stored.apply("team", theirs)

    outcome = apply_attributes(stored.attributes, stored.owners, ours, RULE, "git")

    inner = next((name for name in ("items", "tags", "list", "whole") if name in theirs), None)
    assert outcome.attributes == ({inner: expected} if inner else expected)
    assert [(conflict.leaf, conflict.managers) for conflict in outcome.conflicts] == [
        (leaf, ("team",)) for leaf in overruled
    ]


def test_a_name_that_only_one_wanted_stays_while_others_say_something_of_the_item():
    stored = Stored(RULE)
    stored.apply("git", {"items": [{"key": "u", "value": 1}]})
    stored.put("team", {"items": [{"key": "u", "value": 1, "more": 2}]})

    stored.apply("git", None)

    assert stored.attributes == {"items": [{"key": "u", "more": 2}]}
    assert stored.owners == {"/items/[key=u]/more": ["team"]}


def test_an_item_of_which_somebody_says_only_the_name_stays_when_its_values_go():
    stored = Stored(RULE)
    stored.apply("team", {"items": [{"key": "u"}]})
    stored.apply("git", {"items": [{"key": "u", "value": 1}]})

    stored.apply("git", None)

    assert stored.attributes == {"items": [{"key": "u"}]}
    assert stored.owners == {"/items/[key=u]/key": ["team"]}


def test_an_empty_document_is_something_that_is_said():
    stored = Stored(RULE)

    stored.apply("git", {})

    assert (stored.attributes, stored.owners) == ({}, {"": ["git"]})


def test_an_empty_document_of_one_gives_way_to_the_first_value_of_another():
    stored = Stored(RULE)
    stored.apply("git", {})

    assert stored.apply("team", {"a": 1})

    assert (stored.attributes, stored.owners) == ({"a": 1}, {"/a": ["team"]})


def test_what_is_left_of_an_emptied_document_is_nothing():
    stored = Stored(RULE)
    stored.apply("git", {"deep": {"items": [{"key": "u", "value": {"x": 1}}]}, "tags": [1]})

    stored.apply("git", None)

    assert stored.attributes is None


@given(histories(), maybe)
def test_what_is_applied_by_hand_reserves_nothing(stored, wanted):
    stored.apply(HAND, stored.attributes or {"b": 1}, force=True)
    stored.owners = {leaf: [HAND] for leaf in stored.owners}

    assert stored.put("", wanted)
    assert stored.apply("git", wanted)


@given(histories())
def test_a_document_applied_again_by_hand_changes_nothing(stored):
    before = (stored.attributes, stored.owners)

    assert stored.apply(HAND, stored.attributes) or stored.attributes is None

    assert (stored.attributes, stored.owners) == before


@given(histories(), maybe)
def test_an_apply_by_hand_still_respects_those_with_a_name(stored, wanted):
    before = dict(stored.owners), stored.leaves
    if stored.apply(HAND, wanted):
        for leaf, managers in before[0].items():
            if set(managers) - {HAND} and holds_something(before[1][leaf]):
                assert stored.leaves.get(leaf) == before[1][leaf]
