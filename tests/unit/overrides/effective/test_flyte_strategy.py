"""What an execution gets by FlyteAdmin's rules, and what the GET of a project says."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.scopes import Scope
from overrides.effective.flyte_strategy import as_flyte, project_config
from overrides.effective.results import EffectiveAttributes, EffectiveType
from overrides.resolution.resolve import Layer, resolve
from overrides.resource_types import BUILT_IN
from overrides.resource_types.flyte_defaults import CODE_DEFAULTS

PROJECT = Scope(project="p")
PD = Scope(project="p", domain="d")
WORKFLOW = Scope(project="p", domain="d", workflow="w")
CODE = {name: Layer(Scope(), stated, is_default=True) for name, stated in CODE_DEFAULTS.items()}
CONFIG = "workflow_execution_config"
NAMED = {"run_as": {"k8s_service_account": "sa"}, "secrets": [{"key": "k"}]}
ENVIRONMENT = [{"task_type": "python", "node_ids": ["n0"]}]


def layers(rows: dict[Scope, Any], *platform: Any) -> list[Layer]:
    stated = [Layer(scope, attributes) for scope, attributes in rows.items()]
    return [*(Layer(Scope(), attributes, is_default=True) for attributes in platform), *stated]


def execution(
    kind: str, rows: dict[Scope, Any], *platform: Any, at: Scope = WORKFLOW
) -> dict[str, Any] | None:
    """The attributes that apply; None where the type is absent."""
    stated_layers = layers(rows, *platform)
    resource_type = BUILT_IN[kind]
    types = (
        (
            EffectiveType(
                resource_type, resolve(WORKFLOW, stated_layers, resource_type.rule), (), tuple(stated_layers)
            ),
        )
        if stated_layers
        else ()
    )
    answer = as_flyte(EffectiveAttributes(WORKFLOW, types, "x"), CODE, kind)
    return dict(answer.types[0].resolved.attributes) if answer.types else None


def test_even_the_most_specific_config_goes_through_the_merge():
    row = {"execution_env_assignments": ENVIRONMENT, "max_parallelism": 0, "overwrite_cache": False}

    assert execution(CONFIG, {WORKFLOW: {**row, "labels": {"values": {}}}}) == {"max_parallelism": 25}
    assert execution(CONFIG, {WORKFLOW: {"max_parallelism": -1}}) == {"max_parallelism": 25}


def test_an_empty_security_context_hides_nothing_at_an_execution():
    rows = {WORKFLOW: {"security_context": {"secrets": [{"key": "x"}]}}, PROJECT: {"security_context": NAMED}}

    assert execution(CONFIG, rows) == {"max_parallelism": 25, "security_context": NAMED}


def test_a_workflows_config_hides_its_project_domains_but_not_its_projects():
    rows = {
        WORKFLOW: {"interruptible": False},
        PD: {"labels": {"values": {"a": "1"}}, "envs": {"values": [{"key": "A"}]}},
        PROJECT: {"interruptible": True, "max_parallelism": 7, "labels": {"values": {"b": "2"}}},
    }

    assert execution(CONFIG, rows) == {
        "interruptible": False,
        "max_parallelism": 7,
        "labels": {"values": {"b": "2"}},
    }


def test_the_platforms_config_overlays_the_codes_field_by_field():
    platform = {"labels": {"values": {"a": "1"}}, "envs": {"values": [{"key": "A"}]}, "interruptible": False}

    assert execution(CONFIG, {}, platform) == {
        "max_parallelism": 25,
        "labels": platform["labels"],
        "envs": platform["envs"],
    }
    # Zero is what the operator said, and takes no part.
    assert execution(CONFIG, {}, {"max_parallelism": 0}) is None


def test_the_get_of_a_project_is_another_computation():
    row = {"execution_env_assignments": ENVIRONMENT, "security_context": {}, "labels": {"values": {}}}
    labels, variables = {"values": {"a": "1"}}, {"values": [{"key": "A"}]}
    platform = {"security_context": NAMED, "labels": labels, "envs": variables}

    found = project_config(layers({PROJECT: row, PD: {"max_parallelism": 3}}, platform), CODE[CONFIG])

    assert found == {**row, "labels": labels, "max_parallelism": 25}
    assert project_config([], CODE[CONFIG]) == {"max_parallelism": 25}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("cluster_resource", lambda text: {"attributes": {"a": text}}),
        ("cluster_assignment", lambda text: {"cluster_pool_name": text}),
    ],
)
def test_workflow_rows_of_cluster_types_do_not_count(kind, value):
    rows = {WORKFLOW: value("workflow"), PD: value("pd"), PROJECT: value("project")}

    assert execution(kind, rows) == value("pd")
    assert execution(kind, {WORKFLOW: value("workflow")}) is None


def test_cluster_resources_overlay_the_platforms_key_by_key():
    rows = {PD: {"attributes": {"a": "row"}}, PROJECT: {"attributes": {"c": "hidden"}}}

    found = execution("cluster_resource", rows, {"attributes": {"a": "platform", "b": "platform"}})

    assert found == {"attributes": {"a": "row", "b": "platform"}}


def test_without_a_row_the_codes_task_resources_apply_and_a_row_replaces_them_whole():
    assert execution("task_resource", {}) == CODE_DEFAULTS["task_resource"]
    assert execution("task_resource", {}, {"defaults": {"cpu": "100m"}}) == {
        "defaults": {"cpu": "100m", "memory": "200Mi"},
        "limits": {"cpu": "2", "memory": "1Gi", "gpu": "1"},
    }
    assert execution("task_resource", {PROJECT: {"limits": {"cpu": "9"}}}) == {"limits": {"cpu": "9"}}
    assert execution("task_resource", {PROJECT: {"limits": {"cpu": "9"}}, PD: {}}) == {}


def test_rows_that_flyte_has_not_and_nulls_play_no_part():
    rows = {
        Scope(domain="d"): {"max_parallelism": 3},
        Scope(): {"max_parallelism": 4},
        WORKFLOW: {"max_parallelism": None, "labels": {"values": {"gone": None, "kept": "1"}}},
    }

    assert execution(CONFIG, rows) == {"max_parallelism": 25, "labels": {"values": {"kept": "1"}}}


def test_only_the_type_asked_for_is_answered_and_otherwise_all_that_apply():
    nothing = EffectiveAttributes(WORKFLOW, (), "x")

    assert [one.resource_type.name for one in as_flyte(nothing, CODE).types] == ["task_resource", CONFIG]
    assert as_flyte(nothing, CODE, "execution_queue").types == ()
