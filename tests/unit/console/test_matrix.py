"""The matrix of effective values: which rows, lines and levels it has."""

from __future__ import annotations

import pytest

from console.overrides.comparison import ComparedRow, Side, compare
from console.overrides.explanation import Author, Effect, effect_of, explain
from console.overrides.ladder import Cell, matrix
from console.overrides.matrix_rows import Row
from console.overrides.value_text import lines_of
from controlplane.scopes import Level, Scope
from overrides.editing.plans import Difference, EffectiveChange
from overrides.effective.results import EffectiveAttributes, EffectiveType
from overrides.loading.layers import LayerOrigin
from overrides.resolution.leaves import ABSENT
from overrides.resolution.merging import Combine, MergeRule, Strategy
from overrides.resolution.rails import GuardRail
from overrides.resolution.resolve import Layer, resolve
from overrides.resource_types import BUILT_IN
from overrides.resource_types.definition import ResourceType

WORKFLOW = Scope("development", "flytesnacks", "train")
GLOBAL, PROJECT = Scope(), Scope(project="flytesnacks")
CONFIG, TASKS = BUILT_IN["workflow_execution_config"], BUILT_IN["task_resource"]


def effective_of(kind: ResourceType, *layers: Layer, rails: tuple[GuardRail, ...] = ()) -> EffectiveType:
    return EffectiveType(kind, resolve(WORKFLOW, layers, kind.rule, rails), rails, layers)


def matrix_of(*types: EffectiveType) -> list[dict[str, Row]]:
    groups = matrix(EffectiveAttributes(WORKFLOW, types, "")).groups
    return [{row.name: row for row, _ in group.rows} for group in groups]


def envs(*pairs: tuple[str, str]) -> dict[str, object]:
    return {"envs": {"values": [{"key": key, "value": value} for key, value in pairs]}}


def texts(row: Row) -> list[tuple[str, bool, Level]]:
    return [(value.text, value.wins, value.layer.scope.level) for value in row.values]


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        ("1Gi", ("1Gi",)),
        ("", ('""',)),
        (True, ("true",)),
        (None, ("null",)),
        ([], ("[]",)),
        ({}, ("{}",)),
        (["gpu", "spot"], ("gpu", "spot")),
        ([1, None, ""], ("1", "null", '""')),
        ({"team": "ml", "n": 1}, ("team=ml", "n=1")),
        ({"team": ""}, ("team=",)),
        ({"deep": {"er": 1}}, ('{"deep": {"er": 1}}',)),
        ([{"key": "A", "value": "1"}, {"name": "B", "value": "x=y"}], ("A=1", "B=x=y")),
        ([{"key": "A", "$remove": True}], ("A=null",)),
        ([{"key": "A", "operator": "Exists"}], ("key=A, operator=Exists",)),
        ([{"ids": ["a", "b"], "spec": {"x": 1}}], ('ids=a, b, spec={"x": 1}',)),
        ([["a"], {}], ('["a"]', "{}")),
    ],
)
def test_a_list_or_an_object_of_plain_values_has_a_line_for_each(value, lines):
    assert lines_of(value) == lines


def test_only_levels_that_set_something_in_any_type_are_columns_and_the_scope_itself():
    tasks = effective_of(TASKS, Layer(GLOBAL, {"limits": {"cpu": "2"}}))
    config = effective_of(CONFIG, Layer(PROJECT, {"max_parallelism": 5}))

    found = matrix(EffectiveAttributes(WORKFLOW, (tasks, config), ""))

    assert [(rung.label, rung.name, rung.is_here) for rung in found.rungs] == [
        ("global", "", False),
        ("project", "flytesnacks", False),
        ("workflow", "train", True),
    ]
    assert found.width == 5
    assert [[len(cells) for _, cells in group.rows] for group in found.groups] == [[3], [3]]


def test_platform_defaults_are_one_column_before_all_others():
    layers = [Layer(GLOBAL, {"max_parallelism": 1}, is_default=True), Layer(GLOBAL, {"max_parallelism": 2})]
    layers.insert(1, Layer(Scope("development"), {"max_parallelism": 3}, is_default=True))

    found = matrix(EffectiveAttributes(WORKFLOW, (effective_of(CONFIG, *layers),), ""))

    assert [rung.label for rung in found.rungs] == ["platform default", "global", "workflow"]
    ((_, cells),) = found.groups[0].rows
    assert [[value.text for value in cell.values] for cell in cells] == [["3", "1"], ["2"], []]


def test_environment_variables_are_one_row_with_a_line_for_each():
    upper = Layer(PROJECT, envs(("LOG_LEVEL", "debug"), ("REGION", "eu")))
    own = Layer(WORKFLOW, envs(("LOG_LEVEL", "info")))

    (rows,) = matrix_of(effective_of(CONFIG, upper, own))

    assert list(rows) == ["envs › values"]
    row = rows["envs › values"]
    assert row.pointer == "/envs/values"
    assert row.lines == ("LOG_LEVEL=info", "REGION=eu")
    assert texts(row) == [
        ("LOG_LEVEL=info", True, Level.WORKFLOW),
        ("LOG_LEVEL=debug", False, Level.PROJECT),
        ("REGION=eu", True, Level.PROJECT),
    ]
    assert not row.inherited


def test_a_variable_that_a_level_removes_is_no_effective_line():
    upper = Layer(PROJECT, envs(("LOG_LEVEL", "debug"), ("REGION", "eu")))
    own = Layer(WORKFLOW, {"envs": {"values": [{"key": "REGION", "$remove": True}]}})

    (rows,) = matrix_of(effective_of(CONFIG, upper, own))

    row = rows["envs › values"]
    assert row.lines == ("LOG_LEVEL=debug",)
    assert ("REGION=null", True, Level.WORKFLOW) in texts(row)
    assert ("REGION=eu", False, Level.PROJECT) in texts(row)


def test_a_setting_with_many_lines_is_cut_in_the_matrix_and_whole_in_its_explanation():
    layer = Layer(PROJECT, envs(*((f"NAME_{number}", "1") for number in range(13))))

    row, cells = only_row(layer)

    assert row.text.splitlines() == [f"NAME_{number}=1" for number in range(10)]
    assert row.hidden_lines == 3
    assert [len(cell.first_values) for cell in cells] == [10, 0]
    assert len(explain(row, cells, {})[0].values) == 13


def test_labels_are_one_row_and_an_item_with_a_name_another():
    config = effective_of(CONFIG, Layer(PROJECT, {"labels": {"values": {"team": "ml", "a/b": "1"}}}))
    plugins = BUILT_IN["plugin_override"]
    item = {"task_type": "spark", "plugin_id": ["a", "b"], "missing_plugin_behavior": "FAIL"}
    others = effective_of(plugins, Layer(PROJECT, {"overrides": [item, {"task_type": "ray"}]}))

    labels, items = matrix_of(config, others)

    assert labels["labels › values"].lines == ("team=ml", "a/b=1")
    assert items["overrides › spark"].lines == ("plugin_id=a, b", "missing_plugin_behavior=FAIL")
    assert items["overrides › spark"].pointer == "/overrides/[task_type=spark]"
    # An item with nothing but its name is shown by it.
    assert items["overrides › ray"].lines == ("task_type=ray",)


def test_settings_are_in_the_order_of_the_schema():
    layer = Layer(GLOBAL, {"limits": {"memory": "1Gi", "cpu": "2"}, "defaults": {"cpu": "1"}})

    (rows,) = matrix_of(effective_of(TASKS, layer))

    assert list(rows) == ["defaults › cpu", "limits › cpu", "limits › memory"]


def test_a_setting_is_inherited_unless_the_scope_sets_what_applies():
    layers = [
        Layer(PROJECT, {"max_parallelism": 5, "interruptible": True, "overwrite_cache": True}),
        Layer(WORKFLOW, {"max_parallelism": 7, "interruptible": None}),
    ]

    (rows,) = matrix_of(effective_of(CONFIG, *layers))

    assert {name: row.inherited for name, row in rows.items()} == {
        "max_parallelism": False,
        "interruptible": False,
        "overwrite_cache": True,
    }
    assert (rows["interruptible"].lines, rows["interruptible"].no_value_reason) == ((), "removed")


def test_a_value_that_loses_although_it_is_set_here_is_inherited():
    rule = MergeRule(Strategy.MERGE, combine={("max_parallelism",): Combine.MIN})
    kind = ResourceType("t", None, "T", "", "t", rule, CONFIG.schema)
    layers = [Layer(PROJECT, {"max_parallelism": 5}), Layer(WORKFLOW, {"max_parallelism": 7})]

    (rows,) = matrix_of(effective_of(kind, *layers))

    assert rows["max_parallelism"].lines == ("5",)
    assert rows["max_parallelism"].inherited
    assert {value.why for value in rows["max_parallelism"].values if not value.wins} == {
        "the lowest value applies"
    }


def test_a_value_that_a_guard_rail_rejects_is_in_the_row_of_the_value_that_applies():
    rail = GuardRail("cap", GLOBAL, "workflow_execution_config", ("max_parallelism",), maximum=10)
    layers = [Layer(PROJECT, {"max_parallelism": 5}), Layer(WORKFLOW, {"max_parallelism": 99})]

    (both,) = matrix_of(effective_of(CONFIG, *layers, rails=(rail,)))
    (alone,) = matrix_of(effective_of(CONFIG, layers[1], rails=(rail,)))

    assert both["max_parallelism"].lines == ("5",)
    assert both["max_parallelism"].inherited
    assert ("99", False, Level.WORKFLOW) in texts(both["max_parallelism"])
    assert alone["max_parallelism"].no_value_reason.startswith("rejected by the guard rail cap")
    assert not alone["max_parallelism"].inherited


def test_an_explanation_has_what_applies_first_and_the_scope_itself_although_it_sets_nothing():
    row, cells = only_row(Layer(GLOBAL, {"max_parallelism": 1}), Layer(PROJECT, {"max_parallelism": 5}))

    steps = explain(row, cells, {})

    assert [(step.rung.label, step.applies) for step in steps] == [
        ("project", True),
        ("global", False),
        ("workflow", False),
    ]
    assert (steps[2].layer, steps[2].can_be_removed) == (None, False)
    assert "inherited" in steps[2].whys[0]
    assert steps[0].can_be_removed


def test_an_explanation_names_who_set_the_value_and_otherwise_who_wrote_the_layer():
    default = Layer(GLOBAL, {"max_parallelism": 3}, LayerOrigin(changed_by="platform"), is_default=True)
    layers = [
        default,
        Layer(GLOBAL, {"max_parallelism": 1}, LayerOrigin(version=9, changed_by="ann")),
        Layer(WORKFLOW, {"max_parallelism": 5}, LayerOrigin(version=4, changed_by="bob")),
    ]
    row, cells = only_row(*layers)

    steps = explain(row, cells, {GLOBAL: Author(2, "eve", None)})

    assert [(step.rung.label, step.author.version, step.author.name) for step in steps if step.author] == [
        ("workflow", 4, "bob"),
        ("global", 2, "eve"),
        # The global override and the platform defaults have one scope, and two authors.
        ("platform default", 0, "platform"),
    ]
    assert not steps[2].can_be_removed


def test_a_level_some_of_whose_lines_apply_has_both_reasons():
    row, cells = only_row(
        Layer(PROJECT, {"labels": {"values": {"team": "ml", "tier": "1"}}}),
        Layer(WORKFLOW, {"labels": {"values": {"tier": "2"}}}),
    )

    steps = {step.rung.label: step for step in explain(row, cells, {})}

    assert steps["project"].applies
    assert steps["project"].whys == (
        "the most specific value applies",
        "a more specific scope sets another value",
    )


def only_row(*layers: Layer) -> tuple[Row, tuple[Cell, ...]]:
    ((row, cells),) = (
        matrix(EffectiveAttributes(WORKFLOW, (effective_of(CONFIG, *layers),), "")).groups[0].rows
    )
    return row, cells


def compared(left: Layer, right: Layer, kind: ResourceType = CONFIG) -> dict[str, ComparedRow]:
    sides = (EffectiveAttributes(WORKFLOW, (effective_of(kind, layer),), "") for layer in (left, right))
    return {row.name: row for group in compare(*sides) for row in group.rows}


def test_two_scopes_are_compared_by_setting_and_what_is_equal_is_left_out():
    rows = compared(
        Layer(GLOBAL, {"max_parallelism": 5, "interruptible": True}),
        Layer(PROJECT, {"max_parallelism": 7, "interruptible": True, "overwrite_cache": False}),
    )

    assert list(rows) == ["max_parallelism", "overwrite_cache"]
    assert rows["max_parallelism"] == ComparedRow(
        "max_parallelism", Side(("5",), ("global",)), Side(("7",), ("project",)), 0
    )
    assert rows["overwrite_cache"].left == Side((), ())


def test_of_pairs_only_those_that_differ_are_compared():
    rows = compared(
        Layer(GLOBAL, envs(("LOG_LEVEL", "debug"), ("REGION", "eu"))),
        Layer(PROJECT, envs(("REGION", "eu"), ("LOG_LEVEL", "info"), ("TIER", "1"))),
    )

    (row,) = rows.values()
    assert (row.left.lines, row.right.lines, row.equal) == (
        ("LOG_LEVEL=debug",),
        ("LOG_LEVEL=info", "TIER=1"),
        1,
    )


def test_a_number_and_a_text_that_look_alike_differ():
    schema = {"type": "object", "properties": {"a": {}}}
    kind = ResourceType("t", None, "T", "", "t", MergeRule(Strategy.MERGE), schema)

    (row,) = compared(Layer(GLOBAL, {"a": 1}), Layer(GLOBAL, {"a": "1"}), kind).values()

    assert (row.left.lines, row.right.lines) == (("1",), ("1",))


def test_scopes_without_a_difference_have_no_rows():
    layer = Layer(GLOBAL, {"max_parallelism": 5, **envs(("A", "1"))})

    assert compared(layer, layer) == {}


@pytest.mark.parametrize(
    ("pointer", "leaf", "value", "line"),
    [
        ("/limits/cpu", "/limits/cpu", "2", "2"),
        ("/labels/values", "/labels/values/a~1b", "x", "a/b=x"),
        ("/envs/values", "/envs/values/[key=LOG_LEVEL]/value", "info", "LOG_LEVEL=info"),
        ("/envs/values", "/envs/values/[key=A]", None, "A=null"),
        (
            "/overrides/[task_type=spark]",
            "/overrides/[task_type=spark]/plugin_id",
            ["a", "b"],
            "plugin_id=a, b",
        ),
        ("/items", "/items/[name=a~1b]/deep/er", 1, "a/b › deep › er=1"),
        ("/tags", '/tags/["x=y"]', ["x=y"], "x=y"),
        ("/limits/cpu", "/defaults/cpu", "1", "defaults › cpu=1"),
        ("", "/max_parallelism", 3, "max_parallelism=3"),
    ],
)
def test_what_a_removal_changes_is_written_as_lines_of_the_setting(pointer, leaf, value, line):
    change = EffectiveChange(PROJECT, "t", (Difference(leaf, value, ABSENT), Difference(leaf, ABSENT, value)))

    assert effect_of(change, pointer) == Effect(PROJECT, (line,), (line,))


def test_the_name_of_an_item_is_no_line_of_its_own():
    names = (
        Difference("/envs/values/[key=A]/key", "A", ABSENT),
        Difference("/envs/values/[key=A]/value", "1", ABSENT),
    )

    assert effect_of(EffectiveChange(PROJECT, "t", names), "/envs/values") == Effect(PROJECT, ("A=1",), ())
