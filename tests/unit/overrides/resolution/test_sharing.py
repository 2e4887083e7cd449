"""Merged layers against `resolve`: the same, sources included, however scopes share them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from controlplane.scopes import Level, Scope
from overrides.resolution.merging import Combine, MergeRule, Strategy
from overrides.resolution.rails import GuardRail
from overrides.resolution.resolve import Layer, Resolution, in_order, resolve
from overrides.resolution.sharing import MergedLayers
from tests.support.properties import examples
from tests.unit.overrides.resolution.test_resolve_against_reference import cases

RULE = MergeRule(Strategy.MERGE)
ABOVE, BELOW = Scope("d", "p"), Scope("d", "p", "w")


def resolved(root: MergedLayers, target: Scope, layers: list[Layer]) -> Resolution:
    merged = root
    for layer in in_order(layer for layer in layers if layer.scope.covers(target)):
        merged = merged.with_layer(layer)
    return merged.resolution


@examples(150, nightly=20_000)
@given(cases())
def test_a_shared_resolution_is_the_same_as_an_own_one(case):
    target, layers, rule, rails = case.arguments
    root = MergedLayers.begin(rule, [rail for rail in rails if rail.scope.covers(target)])
    *_, last = in_order(layers) or [None]
    others = [replace(layer, origin="other") if layer is last else layer for layer in layers]
    without_last = [layer for layer in layers if layer is not last]

    for stated in (without_last, layers, others, layers[1:]):
        expected = resolve(target, stated, rule, rails)
        assert resolved(root, target, stated) == expected
        assert repr(resolved(root, target, stated)) == repr(expected)


def test_what_a_layer_does_not_touch_stays_the_same_object():
    above = MergedLayers.begin(RULE).with_layer(Layer(ABOVE, {"cpu": "1", "memory": "1Gi"}))

    below = above.with_layer(Layer(BELOW, {"cpu": "2"}))

    assert [leaf.value for leaf in below.resolution.leaves] == ["2", "1Gi"]
    assert below.resolution.leaves[1] is above.resolution.leaves[1]
    assert above.with_layer(below.layer) is below


def test_a_leaf_whose_index_changes_is_another_leaf():
    rule = MergeRule(Strategy.MERGE, keyed_lists={("items",): "name"})
    upper = Layer(ABOVE, {"items": [{"name": "a"}, {"name": "b"}]})
    lower = Layer(BELOW, {"items": [{"name": "a", "$remove": True}]})

    below = MergedLayers.begin(rule).with_layer(upper).with_layer(lower)

    assert [leaf.pointer for leaf in below.resolution.leaves] == ["/items/0/name"]
    assert below.resolution == resolve(BELOW, [upper, lower], rule)


def test_a_limit_that_loses_is_among_the_values_that_lost():
    rule = MergeRule(Strategy.MERGE, combine={("cpu",): Combine.MIN})
    upper, lower = Layer(ABOVE, {"cpu": 1}), Layer(BELOW, {"cpu": 2})

    below = MergedLayers.begin(rule).with_layer(upper).with_layer(lower)

    assert [losing.layer for losing in below.resolution.leaves[0].shadowed] == [lower]
    assert below.resolution == resolve(BELOW, [upper, lower], rule)


def test_what_a_rail_refuses_above_is_refused_below():
    rail = GuardRail("a", Scope(), "t", ("cpu",), lock_below=Level.DOMAIN)
    layers = [Layer(ABOVE, {"cpu": "1"}), Layer(BELOW, {"cpu": "2", "memory": "1Gi"})]

    root = MergedLayers.begin(RULE, [rail])

    assert resolved(root, BELOW, layers) == resolve(BELOW, layers, RULE, [rail])
    assert len(resolved(root, BELOW, layers).refused) == 2
