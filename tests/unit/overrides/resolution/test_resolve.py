"""The laws of the resolver, over random documents."""

from __future__ import annotations

import copy
import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from controlplane.scopes import Scope
from overrides.resolution.leaves import leaves, pointer
from overrides.resolution.merging import MergeRule, Strategy, merge
from overrides.resolution.resolve import Layer, resolve

TARGET = Scope("d", "p", "w", "l")
LADDER = list(TARGET.ladder())
MERGE = MergeRule(Strategy.MERGE, {("items",): "key"})
REPLACE = MergeRule(Strategy.REPLACE)
rules = st.sampled_from([MERGE, REPLACE, MergeRule(Strategy.MERGE)])

_names = st.sampled_from(["a", "b", "c/~"])
_plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(0, 3),
    st.text("xy", max_size=2),
    st.lists(st.integers(0, 2), max_size=2),
)
_values = st.recursive(_plain, lambda below: st.dictionaries(_names, below, max_size=3), max_leaves=6)
_item = st.one_of(
    st.fixed_dictionaries({"key": st.sampled_from("xyz"), "$remove": st.just(True)}),
    st.fixed_dictionaries({"key": st.sampled_from("xyz")}, optional={"value": _values}),
)
_items = st.lists(_item, max_size=3, unique_by=lambda item: item["key"])
documents = st.builds(
    lambda free, items: free if items is None else {**free, "items": items},
    st.dictionaries(_names, _values, max_size=3),
    st.one_of(st.none(), _items),
)
layer_sets = st.lists(
    st.tuples(st.sampled_from(LADDER), documents), max_size=6, unique_by=lambda pair: pair[0]
)


def layers_of(pairs: list[tuple[Scope, Any]]) -> list[Layer]:
    return [Layer(scope, document) for scope, document in pairs]


@given(layer_sets, rules)
def test_the_answer_is_the_fold_of_the_merges(pairs, rule):
    expected: dict[str, Any] = {}
    for _, document in sorted(pairs, key=lambda pair: pair[0].level):
        expected = merge(expected, document, rule)

    assert resolve(TARGET, layers_of(pairs), rule).attributes == expected


@given(layer_sets, rules, st.randoms())
def test_the_order_in_which_layers_arrive_does_not_matter(pairs, rule, chance: random.Random):
    shuffled = chance.sample(pairs, len(pairs))

    in_order, in_disorder = (resolve(TARGET, layers_of(each), rule) for each in (pairs, shuffled))

    assert in_order == in_disorder


@given(layer_sets, rules)
def test_every_leaf_has_exactly_one_source_and_no_leaf_is_missing(pairs, rule):
    resolved = resolve(TARGET, layers_of(pairs), rule)

    pointers = [leaf.pointer for leaf in resolved.leaves]
    assert len(pointers) == len(set(pointers))
    if pairs:
        assert len(pointers) == len(list(leaves(resolved.attributes, rule)))
    for leaf in resolved.leaves:
        assert at(resolved.attributes, leaf.pointer) == leaf.value
        assert leaf.source.scope.covers(TARGET)


@given(layer_sets, rules)
def test_resolving_only_up_to_its_source_gives_each_leaf_its_final_value(pairs, rule):
    resolved = resolve(TARGET, layers_of(pairs), rule)

    for leaf in resolved.leaves:
        upto = [pair for pair in pairs if pair[0].level <= leaf.source.scope.level]
        earlier = {leaf.pointer: leaf.value for leaf in resolve(TARGET, layers_of(upto), rule).leaves}
        # Indexes may differ where a deeper layer removed a named item before it.
        assert (
            leaf.value in earlier.values()
            if "/items/" in leaf.pointer
            else earlier[leaf.pointer] == leaf.value
        )


@given(layer_sets, rules)
def test_the_source_is_at_least_as_deep_as_every_layer_that_states_the_leaf(pairs, rule):
    resolved = resolve(TARGET, layers_of(pairs), rule)

    for leaf in resolved.leaves:
        stating = [
            scope.level
            for scope, document in pairs
            if leaf.pointer in {pointer(document, path) for path, _ in leaves(document, rule)}
        ]
        # Indexes of named items differ from layer to layer; their sources are tested by name below.
        assert "/items/" in leaf.pointer or leaf.source.scope.level >= max(stating, default=0)


def test_a_layer_that_restates_what_it_inherits_owns_it():
    """Whoever later changes the value above must see that this scope has pinned it."""
    layers = [Layer(Scope(), {"cpu": "1"}), Layer(Scope(project="p"), {"cpu": "1"})]

    (leaf,) = resolve(TARGET, layers, MERGE).leaves

    assert leaf.source.scope == Scope(project="p")
    assert [shadow.layer.scope for shadow in leaf.shadowed] == [Scope()]


@given(layer_sets, rules)
def test_no_layer_below_the_source_changes_a_leaf(pairs, rule):
    resolved = resolve(TARGET, layers_of(pairs), rule)

    for leaf in resolved.leaves:
        assert all(shadow.layer.scope.level < leaf.source.scope.level for shadow in leaf.shadowed)
        levels = [shadow.layer.scope.level for shadow in leaf.shadowed]
        assert levels == sorted(levels, reverse=True)


@given(layer_sets)
def test_nothing_in_the_answer_is_null_and_no_mark_of_removal_is_left(pairs):
    text = repr(resolve(TARGET, layers_of(pairs), MERGE).attributes)

    assert "None" not in text
    assert "$remove" not in text


@given(layer_sets, rules)
def test_inputs_are_not_changed(pairs, rule):
    before = copy.deepcopy(pairs)

    resolve(TARGET, layers_of(pairs), rule)

    assert pairs == before


@given(documents)
def test_a_layer_set_twice_changes_nothing_more(document):
    once = merge({}, document, MERGE)

    assert merge(once, document, MERGE) == once


@given(layer_sets)
def test_layers_of_other_scopes_play_no_part(pairs):
    strangers = [Layer(Scope("d2", "p"), {"a": 1}), Layer(Scope(project="p2"), {"a": 2})]

    with_them = resolve(TARGET, layers_of(pairs) + strangers, MERGE)

    assert with_them == resolve(TARGET, layers_of(pairs), MERGE)


def test_null_removes_an_inherited_value_and_says_who_did_it():
    layers = [
        Layer(Scope(), {"limits": {"cpu": "2", "gpu": "1"}}),
        Layer(Scope(project="p"), {"limits": {"gpu": None}}),
    ]

    resolved = resolve(TARGET, layers, MERGE)

    assert resolved.attributes == {"limits": {"cpu": "2"}}
    (removed,) = resolved.removed
    assert removed.pointer == "/limits/gpu"
    assert removed.source.scope == Scope(project="p")
    assert removed.shadowed[0].value == "1"


def test_an_object_emptied_by_a_null_belongs_to_who_emptied_it():
    layers = [Layer(Scope(), {"a": {"x": 1}}), Layer(Scope(project="p"), {"a": {"x": None}})]

    (leaf,) = resolve(TARGET, layers, MERGE).leaves

    assert (leaf.pointer, leaf.value, leaf.source.scope) == ("/a", {}, Scope(project="p"))


def test_a_named_item_is_removed_by_its_mark_and_the_others_keep_their_sources():
    layers = [
        Layer(Scope(), {"items": [{"key": "x", "value": 1}, {"key": "y", "value": 2}]}),
        Layer(Scope(project="p"), {"items": [{"key": "x", "$remove": True}]}),
    ]

    resolved = resolve(TARGET, layers, MERGE)

    assert resolved.attributes == {"items": [{"key": "y", "value": 2}]}
    assert {leaf.source.scope for leaf in resolved.leaves} == {Scope()}
    assert resolved.removed[0].source.scope == Scope(project="p")


def test_nothing_set_differs_from_an_empty_document_set():
    assert resolve(TARGET, [], MERGE).leaves == ()
    assert resolve(TARGET, [Layer(Scope(), {})], MERGE).leaves[0].source.scope == Scope()


def at(document: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        document = document[int(name)] if isinstance(document, list) else document[name]
    return document
