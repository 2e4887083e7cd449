"""What guard rails keep from applying, one sentence of ADR 0011 after the other."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.scopes import Level, Scope
from overrides.resolution.merging import Combine, MergeRule, Strategy
from overrides.resolution.rails import GuardRail
from overrides.resolution.resolve import Layer, Resolution, resolve

GLOBAL, DOMAIN, PROJECT = Scope(), Scope(domain="prod"), Scope(project="p")
PAIR, WORKFLOW = Scope("prod", "p"), Scope("prod", "p", "w")
TARGET = Scope("prod", "p", "w", "l")

MERGE = MergeRule(Strategy.MERGE)
KEYED = MergeRule(Strategy.MERGE, {("envs",): "key"})
UNIQUE = MergeRule(Strategy.MERGE, combine={("mails",): Combine.APPEND_UNIQUE})
WHOLE = MergeRule(Strategy.MERGE, combine={("template",): Combine.REPLACE})
REPLACE = MergeRule(Strategy.REPLACE)


def rail(path: str, scope: Scope = GLOBAL, name: str = "rail", **rule: Any) -> GuardRail:
    return GuardRail(name, scope, "t", tuple(path.split("/")), **rule)


def lock(path: str, level: Level = Level.PROJECT, scope: Scope = GLOBAL) -> GuardRail:
    return rail(path, scope, lock_below=level)


def answer(
    *layers: tuple[Scope, Any], rails: list[GuardRail], rule: MergeRule = MERGE, target: Scope = TARGET
) -> Resolution:
    return resolve(target, [Layer(scope, document) for scope, document in layers], rule, rails)


def refused(resolved: Resolution) -> list[tuple[str, Scope]]:
    return [(refusal.pointer, refusal.source.scope) for refusal in resolved.refused]


# It speaks for its scope and all that the scope covers


@pytest.mark.parametrize("scope", [GLOBAL, DOMAIN, PROJECT, PAIR, WORKFLOW, TARGET])
def test_a_rail_speaks_for_what_its_scope_covers(scope):
    resolved = answer((TARGET, {"cpu": "9"}), rails=[rail("cpu", scope, maximum="4")])

    assert resolved.attributes == {}


@pytest.mark.parametrize("scope", [Scope("dev"), Scope(project="q"), Scope("prod", "p", "w2"), TARGET])
def test_a_rail_is_silent_elsewhere(scope):
    resolved = answer((GLOBAL, {"cpu": "9"}), rails=[rail("cpu", scope, maximum="4")], target=WORKFLOW)

    assert resolved.attributes == {"cpu": "9"}
    assert resolved.refused == ()


# Statements that break it are left out and listed, whichever layer they come from


@pytest.mark.parametrize("scope", [GLOBAL, DOMAIN, PROJECT, WORKFLOW])
def test_a_statement_is_refused_from_whichever_layer_it_comes(scope):
    guard = rail("cpu", PROJECT, maximum="4")

    resolved = answer((scope, {"cpu": "9"}), rails=[guard])

    assert refused(resolved) == [("/cpu", scope)]
    assert (resolved.refused[0].rail, resolved.refused[0].value) == (guard, "9")
    assert "the maximum is 4" in resolved.refused[0].because


def test_what_is_less_specific_then_applies():
    resolved = answer(
        (GLOBAL, {"cpu": "1"}),
        (PROJECT, {"cpu": "2"}),
        (WORKFLOW, {"cpu": "9"}),
        rails=[rail("cpu", maximum="4")],
    )

    (leaf,) = resolved.leaves
    assert (leaf.value, leaf.source.scope) == ("2", PROJECT)
    assert [shadow.value for shadow in leaf.shadowed] == ["1"]


def test_of_two_rails_that_a_statement_breaks_the_first_by_name_is_told():
    rails = [rail("cpu", name="b", maximum="4"), rail("cpu", name="a", maximum="5")]

    resolved = answer((WORKFLOW, {"cpu": "9"}), rails=rails)

    assert [refusal.rail.name for refusal in resolved.refused] == ["a"]


def test_a_removed_rail_brings_statements_back():
    layers = [(GLOBAL, {"cpu": "1"}), (WORKFLOW, {"cpu": "9"})]

    during, after = (answer(*layers, rails=rails) for rails in ([rail("cpu", maximum="4")], []))

    assert (during.attributes, after.attributes) == ({"cpu": "1"}, {"cpu": "9"})


# Platform defaults can break bounds, not locks


def test_a_platform_default_can_break_a_bound():
    layers = [Layer(GLOBAL, {"cpu": "9"}, is_default=True)]

    resolved = resolve(TARGET, layers, MERGE, [rail("cpu", maximum="4")])

    assert resolved.attributes == {}


def test_a_platform_default_breaks_no_lock():
    layers = [Layer(DOMAIN, {"cpu": "9"}, is_default=True)]

    resolved = resolve(TARGET, layers, MERGE, [lock("cpu", Level.GLOBAL)])

    assert resolved.attributes == {"cpu": "9"}


# A lock refuses a layer of a level more specific than lock_below


def test_a_lock_lets_its_own_level_set_the_field_and_refuses_a_more_specific_one():
    resolved = answer((PROJECT, {"role": "r"}), (PAIR, {"role": "s"}), rails=[lock("role")])

    assert resolved.attributes == {"role": "r"}
    assert refused(resolved) == [("/role", PAIR)]


BASE = {"security": {"role": {"name": "r"}, "user": "u"}}


@pytest.mark.parametrize(
    "statement",
    [
        {"security": {"role": {"name": "s"}}},
        {"security": {"role": {"name": None}}},
        {"security": {"role": None}},
        {"security": {"role": {}}},
        {"security": None},
        {"security": "none"},
        {"security": []},
    ],
    ids=["in it", "null in it", "null", "empty", "null above", "text above", "list above"],
)
def test_a_lock_refuses_what_sets_the_field_or_takes_it_away(statement):
    resolved = answer((GLOBAL, BASE), (WORKFLOW, statement), rails=[lock("security/role")])

    assert resolved.attributes == BASE
    assert len(resolved.refused) == 1


def test_a_lock_refuses_the_removal_of_the_item_that_holds_the_field():
    base = {"envs": [{"key": "TOKEN", "value": "x"}]}

    resolved = answer(
        (GLOBAL, base),
        (WORKFLOW, {"envs": [{"key": "TOKEN", "$remove": True}]}),
        rails=[lock("envs/*/value")],
        rule=KEYED,
    )

    assert resolved.attributes == base
    assert refused(resolved) == [("/envs/[key=TOKEN]", WORKFLOW)]


@pytest.mark.parametrize("path", ["envs", "envs/*"])
def test_a_lock_on_a_keyed_list_refuses_its_items_whole(path):
    base = {"envs": [{"key": "TOKEN", "value": "x"}]}

    resolved = answer(
        (GLOBAL, base),
        (WORKFLOW, {"envs": [{"key": "OTHER", "value": "y"}, {"value": "z", "key": "TOKEN"}]}),
        rails=[lock(path)],
        rule=KEYED,
    )

    assert resolved.attributes == base


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ({"security": {}}, MERGE),
        ({"security": {"user": None}}, MERGE),
        ({}, MERGE),
        ({"envs": []}, KEYED),
        ({"mails": []}, UNIQUE),
    ],
    ids=["empty object", "beside it", "empty document", "empty keyed list", "empty unique list"],
)
def test_a_lock_lets_through_what_does_not_touch_the_field(statement, rule):
    locks = [lock("security/role"), lock("envs/*/value"), lock("mails/*/name")]

    resolved = answer((GLOBAL, BASE), (WORKFLOW, statement), rails=locks, rule=rule)

    assert resolved.refused == ()
    assert resolved.attributes["security"]["role"] == {"name": "r"}


def test_a_lock_refuses_an_empty_list_that_replaces():
    resolved = answer(
        (GLOBAL, {"mails": [{"name": "a"}]}), (PAIR, {"mails": []}), rails=[lock("mails/*/name")]
    )

    assert resolved.attributes == {"mails": [{"name": "a"}]}


# Bounds


@pytest.mark.parametrize("value", ["500m", "4", 4, 0.5, "3.5", 1])
def test_a_bound_lets_through_what_lies_within(value):
    resolved = answer((WORKFLOW, {"cpu": value}), rails=[rail("cpu", minimum="500m", maximum=4)])

    assert resolved.attributes == {"cpu": value}


@pytest.mark.parametrize("value", ["499m", 0, "4001m", "1Ki", 4.5, "many", "-1", True, [], {}, ["1"]])
def test_a_bound_refuses_what_lies_outside_or_cannot_be_compared(value):
    resolved = answer((WORKFLOW, {"cpu": value}), rails=[rail("cpu", minimum="500m", maximum=4)])

    assert resolved.attributes == {}
    assert refused(resolved) == [("/cpu", WORKFLOW)]


@pytest.mark.parametrize("rule", [{"minimum": 1}, {"maximum": 9}, {"allowed": ("5",)}])
def test_a_null_breaks_no_bound(rule):
    resolved = answer((GLOBAL, {"cpu": "5"}), (WORKFLOW, {"cpu": None}), rails=[rail("cpu", **rule)])

    assert resolved.attributes == {}
    assert (resolved.refused, len(resolved.removed)) == ((), 1)


def test_a_value_above_the_field_breaks_no_bound():
    resolved = answer((WORKFLOW, {"limits": "none"}), rails=[rail("limits/cpu", maximum=4)])

    assert resolved.attributes == {"limits": "none"}


def test_a_star_stands_for_any_member_or_item():
    resolved = answer(
        (
            WORKFLOW,
            {"limits": {"cpu": 9, "gpu": 1}, "envs": [{"key": "A", "size": 9}, {"key": "B", "size": 1}]},
        ),
        rails=[rail("limits/*", name="a", maximum=4), rail("envs/*/size", name="b", maximum=4)],
        rule=KEYED,
    )

    assert resolved.attributes == {"limits": {"gpu": 1}, "envs": [{"key": "B", "size": 1}]}


@pytest.mark.parametrize("path", ["mails/*/size", "mails/*/*"])
def test_a_bound_reaches_into_a_list_that_is_taken_whole(path):
    items = [{"size": 1}, {"size": 9}]

    resolved = answer((WORKFLOW, {"mails": items}), rails=[rail(path, maximum=4)])

    assert refused(resolved) == [("/mails", WORKFLOW)]


# Allowed values


def test_only_values_that_are_allowed_apply():
    allowed = rail("image", allowed=("a", {"name": "b"}, 1))

    values = ["a", "x", 1, 1.0, True]
    admitted = [value for value in values if answer((WORKFLOW, {"image": value}), rails=[allowed]).attributes]

    assert [repr(value) for value in admitted] == ["'a'", "1"]


def test_allowed_of_a_list_that_replaces_speaks_of_all_its_items():
    guard = rail("images", allowed=("a", "b"))

    good, bad = (answer((WORKFLOW, {"images": items}), rails=[guard]) for items in (["b", "a"], ["a", "x"]))

    assert (good.attributes, bad.attributes) == ({"images": ["b", "a"]}, {})


def test_allowed_of_a_unique_list_refuses_single_items():
    resolved = answer(
        (GLOBAL, {"mails": ["a", "x"]}),
        (WORKFLOW, {"mails": ["y", "b"]}),
        rails=[rail("mails", allowed=("a", "b"))],
        rule=UNIQUE,
    )

    assert resolved.attributes == {"mails": ["a", "b"]}
    assert refused(resolved) == [('/mails/["x"]', GLOBAL), ('/mails/["y"]', WORKFLOW)]


# What is taken whole is refused whole


def test_a_document_that_is_taken_whole_is_refused_whole():
    resolved = answer(
        (GLOBAL, {"queue": "a", "tags": []}),
        (WORKFLOW, {"queue": "b", "size": 9}),
        rails=[rail("size", maximum=4)],
        rule=REPLACE,
    )

    assert resolved.attributes == {"queue": "a", "tags": []}
    assert refused(resolved) == [("/size", WORKFLOW)]


@pytest.mark.parametrize("document", [{"queue": "b"}, {}])
def test_a_document_that_is_taken_whole_breaks_a_lock_without_naming_the_field(document):
    resolved = answer((GLOBAL, {"size": 1}), (WORKFLOW, document), rails=[lock("size")], rule=REPLACE)

    assert resolved.attributes == {"size": 1}


@pytest.mark.parametrize("path", ["template/image", "*/image"])
@pytest.mark.parametrize("template", [{"image": "x"}, {"other": 1}, {}])
def test_an_object_that_is_taken_whole_is_refused_whole(path, template):
    base = {"template": {"image": "a"}}

    resolved = answer((GLOBAL, base), (WORKFLOW, {"template": template}), rails=[lock(path)], rule=WHOLE)

    assert resolved.attributes == base


# A statement that loses one leaf keeps the others


def test_a_statement_that_loses_one_leaf_keeps_the_others():
    resolved = answer((WORKFLOW, {"limits": {"cpu": 9, "gpu": 1}}), rails=[rail("limits/cpu", maximum=4)])

    assert resolved.attributes == {"limits": {"gpu": 1}}


def test_an_object_that_this_empties_is_as_if_never_stated():
    resolved = answer((WORKFLOW, {"limits": {"cpu": 9}, "a": {}}), rails=[rail("limits/cpu", maximum=4)])

    assert resolved.attributes == {"a": {}}


def test_a_layer_that_this_empties_is_no_layer():
    resolved = answer((WORKFLOW, {"limits": {"cpu": 9}}), rails=[rail("limits/cpu", maximum=4)])

    assert resolved.leaves == ()


def test_an_item_that_has_only_its_key_left_is_as_if_never_stated():
    resolved = answer(
        (WORKFLOW, {"envs": [{"key": "A", "size": 9}, {"key": "B"}]}),
        rails=[rail("envs/*/size", maximum=4)],
        rule=KEYED,
    )

    assert resolved.attributes == {"envs": [{"key": "B"}]}
