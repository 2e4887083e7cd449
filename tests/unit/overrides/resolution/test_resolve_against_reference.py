"""The resolver against a slow one of another make, over random layers, rules and guard rails.

`make test` looks at 2,000 cases. HYPOTHESIS_PROFILE=nightly looks at 100,000 new ones:

    HYPOTHESIS_PROFILE=nightly make test ARGS="tests/unit/overrides/resolution -k against_reference"
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any, NamedTuple

from hypothesis import given, note
from hypothesis import strategies as st

from controlplane.scopes import Level, Scope
from overrides.resolution.merging import Combine, MergeRule, Strategy
from overrides.resolution.rails import GuardRail
from overrides.resolution.resolve import (
    Layer,
    Leaf,
    RemovedLeaf,
    Resolution,
    applicable_layers,
    resolve,
    values_only,
)
from tests.support import reference_resolver as reference
from tests.support.properties import examples
from tests.support.reference_resolver import Reference, canonical

many = examples(300, nightly=100_000)
some = examples(80, nightly=10_000)

# Every shape, and neighbours that differ in one segment: a target is covered by some of them only.
LADDER = [
    ("", "", "", ""),
    ("d", "", "", ""),
    ("", "p", "", ""),
    ("d", "p", "", ""),
    ("d", "p", "w", ""),
    ("d", "p", "w", "l"),
]
STRANGERS = [
    (*scope[:at], f"{scope[at]}2", *scope[at + 1 :]) for scope in LADDER for at in range(4) if scope[at]
]
ONE_IN_FIVE = st.sampled_from([False, False, False, False, True])
# Some rungs of the ladder, and now and then a stranger.
SUBSETS = [
    [*(scope for index, scope in enumerate(LADDER) if bits >> index & 1), *more]
    for bits in range(1, 64)
    if bits.bit_count() > 1 or bits == 1
    for more in ([], [], [STRANGERS[bits % len(STRANGERS)]])
]


@st.composite
def often(draw: Any, usual: st.SearchStrategy, odd: st.SearchStrategy) -> Any:
    """The one rather than the other: `one_of` has no weights."""
    return draw(odd if draw(ONE_IN_FIVE) else usual)


def objects(names: str, values: st.SearchStrategy) -> st.SearchStrategy:
    return st.dictionaries(st.sampled_from(names), values, min_size=1, max_size=2)


HOLLOW = st.sampled_from([None, None, {}, []])
SCALARS = st.sampled_from([0, 1, 1.0, True, "", "x"])
AMOUNTS = st.sampled_from(
    [1, 2, 0.5, 1.0, "500m", "0.5", "1", "2", "2.0", "1Gi", "1024Mi", "1e3", "1k", "x", "1 Gi", "-1", True]
)
SINGLE = often(SCALARS, HOLLOW)
# No objects but empty ones: a minimum of objects is no question that the record answers.
AMOUNT = often(AMOUNTS, HOLLOW)
LIST = st.lists(st.sampled_from([1, 2, True, "x", "500m", {"x": 1}, {"x": None}]), min_size=1, max_size=3)
DEEP = objects("xy", st.one_of(SINGLE, LIST, objects("xy", SINGLE)))
FREE = often(DEEP, st.one_of(SINGLE, LIST))
ITEM = often(
    st.fixed_dictionaries(
        {"key": st.sampled_from("uv")},
        optional={"n": AMOUNT, "l": often(LIST, HOLLOW), "o": FREE, "s": SINGLE},
    ),
    st.fixed_dictionaries({"key": st.sampled_from("uv"), "$remove": st.just(True)}),
)
ITEMS = st.lists(ITEM, min_size=1, max_size=2, unique_by=lambda item: item["key"])


class Field(NamedTuple):
    """A member of random documents, and what rules and rails may say of it."""

    values: st.SearchStrategy
    rules: dict[str, st.SearchStrategy]
    locked: str
    # Bounds guard what holds single values: the record does not say what they mean for an object.
    bounded: str
    allowing: str


EXTREME = st.sampled_from(["min", "max"])
WHOLE, UNIQUE, KEYED = st.just("replace"), st.just("append_unique"), st.just("merge_by_key:key")
# Rules that do not overlap: the record does not say which of two holds.
FIELDS = {
    "s": Field(SINGLE, {}, "s s/z", "s", "s"),
    "f": Field(FREE, {"f/*": WHOLE}, "f f/x f/* f/x/y f/*/*", "", ""),
    "o": Field(FREE, {"o": WHOLE}, "o o/x o/* o/*/x o/z", "", ""),
    "n": Field(often(objects("xy", AMOUNT), SINGLE), {"n/*": EXTREME}, "n n/x n/*", "n/x n/*", "n/x n/*"),
    "l": Field(often(LIST, FREE), {"l": UNIQUE}, "l l/* l/z", "l/* l/*/x l/*/*", "l l/* l/*/x l/*/*"),
    "k": Field(
        often(ITEMS, st.one_of(SINGLE, objects("xn", SINGLE))),
        {"k": KEYED, "k/*/n": EXTREME, "k/*/l": UNIQUE, "k/*/o": WHOLE},
        "k k/* k/*/n k/*/l k/*/l/* k/*/o k/*/o/x k/*/s k/*/z k/*/key k/x",
        "k/*/n k/*/s k/*/l/*",
        "k/*/n k/*/s k/*/l k/*/l/* k/*/key",
    ),
}
LEVELS = st.sampled_from([0, 0, 1, 1, 2, 2, 3, 4, 5])
BOUNDS = st.sampled_from([1, 0.5, "500m", "1", "1Gi", 2])
ALLOWED = st.lists(st.sampled_from([1, 1.0, True, "x", "u", "500m", {"x": 1}, {}]), min_size=1, max_size=3)
RAIL_SCOPES = st.sampled_from([*LADDER[:4], *LADDER, *STRANGERS])


def path(text: str) -> tuple[str, ...]:
    return tuple(text.split("/"))


def rails_on(fields: list[Field]) -> st.SearchStrategy:
    def paths(attribute: str, *more: str) -> st.SearchStrategy:
        return st.sampled_from(
            [*(part for field in fields for part in getattr(field, attribute).split()), *more]
        )

    statement = [
        st.tuples(paths("locked", "*", "*/*", "*/x", "z"), st.fixed_dictionaries({"lock_below": LEVELS}))
    ]
    if any(field.bounded for field in fields):
        bounds = {"minimum": BOUNDS, "maximum": BOUNDS}
        limits = st.one_of(*(st.fixed_dictionaries({name: bound}) for name, bound in bounds.items()))
        statement.append(st.tuples(paths("bounded"), st.one_of(limits, st.fixed_dictionaries(bounds))))
        one_of = st.fixed_dictionaries({"allowed": ALLOWED}, optional={"lock_below": LEVELS})
        statement.append(st.tuples(paths("allowing"), one_of))
    rail = st.builds(
        lambda name, scope, statement: reference.Rail(name, scope, path(statement[0]), statement[1]),
        st.sampled_from("abc"),
        RAIL_SCOPES,
        st.one_of(statement),
    )
    return often(st.lists(rail, min_size=1, max_size=3, unique_by=lambda rail: rail.name), st.just([]))


def swarm(names: str) -> tuple[st.SearchStrategy, ...]:
    """Documents, rules and rails about few fields: so they meet."""
    fields = [FIELDS[name] for name in names]
    documents = often(
        st.fixed_dictionaries({name: FIELDS[name].values for name in names}),
        st.fixed_dictionaries({}, optional={name: FIELDS[name].values for name in names}),
    )
    rules = {path(where): how for field in fields for where, how in field.rules.items()}
    chosen = often(st.fixed_dictionaries(rules), st.fixed_dictionaries({}, optional=rules))
    return documents, chosen, rails_on(fields)


SWARMS = {names: swarm(names) for names in ["s", "f", "o", "n", "l", "k", "fs", "on", "lk", "ks", "fnlkos"]}


class Case(NamedTuple):
    layers: list[reference.Layer]
    strategy: str
    rules: dict[tuple[str, ...], str]
    rails: list[reference.Rail]
    target: tuple[str, ...]

    @property
    def expected(self) -> Reference:
        return Reference(*self)

    @property
    def rule(self) -> MergeRule:
        keyed = {path: rule.partition(":")[2] for path, rule in self.rules.items() if ":" in rule}
        combine = {path: Combine(rule) for path, rule in self.rules.items() if ":" not in rule}
        return MergeRule(Strategy(self.strategy), keyed, combine)

    @property
    def arguments(self) -> tuple[Scope, list[Layer], MergeRule, list[GuardRail]]:
        layers = [
            Layer(Scope(*layer.scope), layer.document, layer, layer.is_default) for layer in self.layers
        ]
        return Scope(*self.target), layers, self.rule, [guard_rail(rail) for rail in self.rails]

    def resolve(self) -> Resolution:
        return resolve(*self.arguments)


def guard_rail(rail: reference.Rail) -> GuardRail:
    rule = dict(rail.rule)
    if "lock_below" in rule:
        rule["lock_below"] = Level(rule["lock_below"])
    if "allowed" in rule:
        rule["allowed"] = tuple(rule["allowed"])
    return GuardRail(rail.name, Scope(*rail.scope), "t", rail.path, **rule)


@st.composite
def cases(draw: Any) -> Case:
    documents, rules, rails = SWARMS[draw(st.sampled_from([*SWARMS, "k", "k", "o"]))]
    scopes = draw(st.sampled_from(SUBSETS))
    defaults = draw(st.sampled_from([[], [], [LADDER[0]], [LADDER[0], LADDER[0]], [LADDER[0], LADDER[1]]]))
    layers = [reference.Layer(scope, draw(documents)) for scope in scopes]
    layers += [reference.Layer(scope, draw(documents), is_default=True) for scope in defaults]
    strategy = draw(st.sampled_from(["merge", "merge", "merge", "merge", "merge", "replace"]))
    target = draw(st.sampled_from([*LADDER, *LADDER[3:], *[LADDER[5]] * 6]))
    return Case(layers, strategy, draw(rules) if strategy == "merge" else {}, draw(rails), target)


def assert_same(resolved: Resolution, expected: Reference) -> None:
    layers, attributes = expected.layers, resolved.attributes
    leaves = [(expected.place_of(leaf.pointer, attributes), leaf) for leaf in resolved.leaves]

    def stated(place: tuple[str, ...], leaf: Leaf) -> list[tuple[Any, str]]:
        values = [(shadow.layer.origin, expected.tree(place, shadow.value)) for shadow in leaf.shadowed]
        return [(layer, canonical(reference.plain(value))) for layer, value in values]

    assert canonical(attributes) == canonical(expected.attributes)
    assert len({place for place, _ in leaves}) == len(leaves)
    assert {place: (leaf.source.origin, stated(place, leaf)) for place, leaf in leaves} == {
        place: (layers[source], [(layers[rank], canonical(value)) for rank, value in shadowed])
        for place, (source, shadowed) in expected.leaves.items()
    }
    assert {
        expected.place_of(removal.pointer, attributes): removal.source.origin for removal in resolved.removed
    } == {place: layers[rank] for place, rank in expected.removed.items()}
    refused = [(expected.place_of(refusal.pointer), refusal.rail.name) for refusal in resolved.refused]
    assert {
        (*what, refusal.source.scope, refusal.source.is_default)
        for what, refusal in zip(refused, resolved.refused, strict=True)
    } == {
        (place, name, Scope(*layers[rank].scope), layers[rank].is_default)
        for rank, place, name in expected.refused
    }


@many
@given(cases())
def test_both_resolvers_give_the_same_answer(case):
    note(f"{case!r}")

    resolved = case.resolve()

    assert_same(resolved, case.expected)


@some
@given(cases(), st.randoms())
def test_the_order_in_which_scopes_arrive_does_not_matter(case, chance: random.Random):
    stored = [layer for layer in case.layers if not layer.is_default]
    defaults = [layer for layer in case.layers if layer.is_default]
    shuffled = case._replace(
        layers=[*chance.sample(stored, len(stored)), *defaults],
        rails=chance.sample(case.rails, len(case.rails)),
    )

    whole, other = case.resolve(), shuffled.resolve()

    assert whole == other


@some
@given(cases(), st.sampled_from([(LADDER[5], LADDER[4]), (LADDER[4], LADDER[3])]))
def test_a_scope_whose_layer_is_deleted_answers_as_the_scope_above_it(case, pair):
    below, above = pair
    without = case._replace(
        layers=[layer for layer in case.layers if layer.is_default or layer.scope != below],
        rails=[rail for rail in case.rails if rail.scope != below],
    )

    whole, other = (without._replace(target=target).resolve() for target in (below, above))

    assert whole == other


@some
@given(cases())
def test_what_is_refused_is_as_if_it_had_never_been_stated(case):
    expected = case.expected
    obedient = [
        expected.layers[rank]._replace(document=reference.plain(tree))
        for rank, tree in reversed(expected.statements)
    ]

    refusing = case.resolve()
    never_stated = case._replace(layers=obedient, rails=[]).resolve()

    assert canonical(refusing.attributes) == canonical(never_stated.attributes)
    assert sources(refusing.leaves) == sources(never_stated.leaves)
    assert sources(refusing.removed) == sources(never_stated.removed)


@some
@given(cases())
def test_what_a_rail_let_through_breaks_no_rail(case):
    target, layers, rule, rails = case.arguments

    admitted, _ = applicable_layers(target, layers, rule, rails)

    assert applicable_layers(target, admitted, rule, rails) == (admitted, ())


@some
@given(cases())
def test_values_without_their_provenance_are_the_same_values(case):
    resolved = case.resolve()

    assert values_only(*case.arguments) == resolved.attributes


def sources(found: Iterable[Leaf | RemovedLeaf]) -> dict[str, tuple[Scope, bool]]:
    return {part.pointer: (part.source.scope, part.source.is_default) for part in found}
