"""What a bundle must pass, and what is told of its changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from registry.agent_configs.bundles.compute import RecomputeInputs, recompute
from registry.agent_configs.bundles.differences import (
    compare_bundles,
    redact_difference,
    summarize_difference,
)
from registry.agent_configs.bundles.gates import Gate, GateLimits, find_holds
from registry.agent_configs.bundles.rendering import bundle_digest, render_configuration
from registry.agent_configs.bundles.targets import Target
from registry.agent_configs.documents.dialects import NAMES_BY_DIALECT, Dialect
from registry.agent_configs.documents.schema import find_misreadings
from tests.support.agent_config_samples import NOW, agent, content, published
from tests.unit.registry.agent_configs.bundles.test_rendering import bundle_of

MANY = [published(f"d{number}") for number in range(6)]


def gates(found):
    return [part.gate for part in found]


def test_a_good_bundle_passes():
    assert find_holds(bundle_of(*MANY), None) == ()


def test_a_bundle_that_loses_most_of_everything_waits():
    before, after = bundle_of(*MANY), bundle_of(*MANY[:2])

    assert gates(find_holds(after, before)) == [Gate.REMOVES_TOO_MUCH, Gate.REMOVES_TOO_MUCH]
    assert "4 of 6 agents" in find_holds(after, before)[0].message
    assert find_holds(after, before, approved=frozenset({bundle_digest(after)})) == ()
    assert find_holds(bundle_of(*MANY[:3]), before) == ()


def test_few_may_go_however_great_their_share():
    assert find_holds(bundle_of(), bundle_of(*MANY[:2])) == ()


def test_every_change_can_need_an_approval():
    careful = GateLimits(approval_required=True)
    before, after = bundle_of(MANY[0]), bundle_of(*MANY[:2])

    assert gates(find_holds(after, before, careful)) == [Gate.NEEDS_APPROVAL]
    assert find_holds(before, before, careful) == ()
    assert find_holds(after, before, careful, frozenset({bundle_digest(after)})) == ()


def test_a_bundle_has_a_size_that_no_approval_changes():
    bundle = bundle_of(*MANY)

    assert gates(find_holds(bundle, None, GateLimits(bytes=100), frozenset({bundle_digest(bundle)}))) == [
        Gate.TOO_LARGE
    ]


@pytest.mark.parametrize(
    ("platform", "pointer"),
    [
        ({"pollInterval": 10}, "pollInterval"),
        ({"pollInterval": "1d"}, "pollInterval"),
        ({"polInterval": "10s"}, "polInterval"),
        ({"webApi": {"resourceQuotas": {"my.dotted": 1}}}, "webApi/resourceQuotas"),
        ({"webApi": {"resourceQuotas": {"Default": 1}}}, "webApi/resourceQuotas"),
        ({"webApi": {"caching": {"size": "big"}}}, "webApi/caching/size"),
        ({"webApi": 1}, "webApi"),
        ({"resourceConstraints": {"ProjectScopeResourceConstraint": {"value": 1}}},
         "resourceConstraints/ProjectScopeResourceConstraint/value"),
        ({"defaultAgent": {"insecure": "yes"}}, "defaultAgent/insecure"),
        ({"defaultAgent": {"timeouts": {"ListAgents": "3s"}}}, "defaultAgent/timeouts"),
    ],
)  # fmt: skip
def test_what_flyte_would_misread_in_the_platforms_settings_is_held(platform, pointer):
    bundle = bundle_of(*MANY, platform=platform)

    (hold,) = find_holds(bundle, None)

    assert hold.gate is Gate.MISREAD
    assert hold.message.endswith(f"/plugins/agent-service/{pointer}.")


def test_the_platform_cannot_route_task_types_itself():
    (hold,) = find_holds(bundle_of(MANY[0], platform={"agentForTaskTypes": []}), None)

    assert hold.gate is Gate.MISREAD


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"agents": {"A": {}}}, "/agents/A"),
        ({"agents": {"a": {"endpoint": "x.y:1"}}}, "/agents/a"),
        ({"agents": None}, "/agents"),
        ({"agentForTaskTypes": {"t": "d0"}}, "/agentForTaskTypes"),
        ({"agentForTaskTypes": [{"t": "nobody"}]}, "/agentForTaskTypes/0"),
        ({"supportedTaskTypes": []}, "/supportedTaskTypes"),
    ],
)
def test_the_schema_finds_what_rendering_must_never_write(change, pointer):
    document = render_configuration(bundle_of(MANY[0]))
    document["plugins"]["agent-service"] |= change

    assert f"/plugins/agent-service{pointer}" in find_misreadings(document, NAMES_BY_DIALECT[Dialect.AGENT])


def test_the_schema_finds_defaults_that_stop_propeller():
    document = render_configuration(bundle_of(MANY[0]))
    where = "/tasks/task-plugins/default-for-task-types"

    for defaults in ([{"t": "spark"}], [{"T": "agent-service"}]):
        document["tasks"] = {"task-plugins": {"default-for-task-types": defaults}}
        assert find_misreadings(document, NAMES_BY_DIALECT[Dialect.AGENT]) == (f"{where}/0",)
    document["tasks"] = {"task-plugins": {"default-for-task-types": {"t": "agent-service"}}}
    assert find_misreadings(document, NAMES_BY_DIALECT[Dialect.AGENT]) == (where,)


def test_a_difference_names_agents_and_task_types():
    before = [
        published("stays", "acme", content({"t": "a"}, {"a": agent("x.y:1")})),
        published("goes", "other", content({"u": "b", "v": "b"}, None, "u")),
    ]
    after = [
        published("stays", "acme", content({"t": "a", "v": "a"}, {"a": agent("x.y:2", default_timeout=1)})),
        published("comes", "third", content({"w": "c"})),
    ]

    delta = compare_bundles(bundle_of(*before), bundle_of(*after))

    assert summarize_difference(delta) == (
        "+ agent c",
        "- agent b",
        "~ agent a: defaultTimeout, endpoint",
        "+ task type w at c",
        "- task type u, was at b",
        "> task type v: b -> a, other -> acme",
        "- default for u",
        "! propeller must restart for default-for-task-types",
    )
    (change,) = delta.agents_changed
    assert [(field.before, field.after) for field in change.fields] == [("10s", "1ns"), ("x.y:1", "x.y:2")]


def test_what_belongs_to_hidden_teams_alone_is_not_told():
    """What moved between one who is seen and one who is hidden names the one who is seen."""
    before = bundle_of(
        published("stays", "acme", content({"t": "a"}, {"a": agent("x.y:1")})),
        published("goes", "other", content({"u": "b", "v": "b"}, None, "u")),
    )
    after = bundle_of(
        published("stays", "acme", content({"t": "a", "v": "a"}, {"a": agent("x.y:2")})),
        published("comes", "third", content({"w": "c"})),
    )
    delta = compare_bundles(before, after)

    def lines_for(*hidden):
        return summarize_difference(redact_difference(delta, before, after, frozenset(hidden)))

    assert lines_for() == summarize_difference(delta)
    assert lines_for("other", "third") == (
        "~ agent a: endpoint",
        "> task type v: another organisation -> a, another organisation -> acme",
        "! propeller must restart for default-for-task-types",
    )
    assert lines_for("acme")[:2] == ("+ agent c", "- agent b")
    assert not any(" a:" in line or "acme" in line for line in lines_for("acme"))


def test_a_first_bundle_is_a_difference_too():
    delta = compare_bundles(None, bundle_of(MANY[0]))

    assert (delta.agents_added, [task_type.task_type for task_type in delta.task_types_added]) == (
        ("d0",),
        ["d0_task"],
    )


def test_what_the_platform_changes_needs_a_restart():
    before = bundle_of(MANY[0])
    target = Target(platform={"pollInterval": "20s"}, enabled_plugins=("agent-service",))

    delta = compare_bundles(before, replace(before, target=target))

    assert delta.platform_changed == delta.restarts == ("pollInterval", "enabled-plugins")


def test_what_is_held_is_not_remembered_as_given_out():
    world = RecomputeInputs(MANY, Target())
    first = recompute(world, now=NOW)
    less = replace(world, documents=MANY[:1], active=first.bundle, history=first.history)

    recomputed = recompute(less, now=NOW)
    again = recompute(replace(world, history=recomputed.history, active=first.bundle), now=NOW)

    assert recomputed.holds
    assert all(entry.established for entry in recomputed.history.values())
    assert bundle_digest(again.bundle) == bundle_digest(first.bundle)
    assert not again.holds
