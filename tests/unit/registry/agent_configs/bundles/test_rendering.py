"""What data planes are given: complete, explicit, and in forms that Flyte does not misread."""

from __future__ import annotations

import json

import pytest
import yaml

from controlplane.formats.go_durations import MINUTE, SECOND
from registry.agent_configs.bundles.bundle import Bundle
from registry.agent_configs.bundles.compute import RecomputeInputs, RecomputeResult, recompute
from registry.agent_configs.bundles.rendering import (
    as_config_map,
    as_json,
    as_yaml,
    bundle_digest,
    render_configuration,
)
from registry.agent_configs.bundles.targets import Target
from registry.agent_configs.claims.decide import ClaimPolicy
from registry.agent_configs.documents.content import Content, Operation
from registry.agent_configs.documents.dialects import Dialect
from registry.agent_configs.documents.published import Canary, Naming, TaskTypeFacts
from registry.agent_configs.documents.reading import read_document
from tests.support.agent_config_samples import NOW, agent, content, published
from tests.support.flyte_loader import LoadedDeployment, load
from tests.unit.registry.agent_configs.documents.test_reading import CORRECTED_1, CORRECTED_2


def recomputed(*documents, **target) -> RecomputeResult:
    return recompute(RecomputeInputs(documents, Target(**target)), now=NOW)


def bundle_of(*documents, **target) -> Bundle:
    return recomputed(*documents, **target).bundle


def test_the_corrected_samples_of_the_rfc_make_one_bundle():
    documents = [
        published(name, "acme", read_document(text).content)
        for name, text in (("1", CORRECTED_1), ("2", CORRECTED_2))
    ]

    outcome = recomputed(*documents)

    assert not outcome.holds
    assert not outcome.decision.dropped
    assert as_yaml(outcome.bundle) == (
        """\
plugins:
  agent-service:
    agents:
      "custom-agent":
        endpoint: "custom-agent.acme.svc.cluster.local:8000"
        insecure: true
        defaultTimeout: "10s"
        timeouts:
        - ListAgents: "3s"
    agentForTaskTypes:
    - "customsensor": "custom-agent"
    - "customtask": "custom-agent"
    supportedTaskTypes:
    - "customsensor"
    - "customtask"
tasks:
  task-plugins:
    default-for-task-types:
    - "customsensor": agent-service
    - "customtask": agent-service
"""
    )


@pytest.mark.parametrize(
    ("dialect", "section", "operation"),
    [
        (Dialect.AGENT, "agent-service", "ListAgents"),
        (Dialect.CONNECTOR, "connector-service", "ListConnectors"),
        (Dialect.CONNECTOR_V2, "connector-service", "ListConnectors"),
    ],
)
def test_every_dialect_is_read_as_it_is_meant(dialect, section, operation):
    deployment = agent("x.y:1", timeouts={Operation.CREATE_TASK: MINUTE}, service_config="{}")
    document = published(
        "one", "acme", Content({"a": deployment}, {"MyTask": "a", "my.dotted": "a"}, frozenset({"mytask"}))
    )

    config = load(as_yaml(bundle_of(document, dialect=dialect)), section=section)

    timeouts = {"CreateTask": MINUTE, operation: 3 * SECOND}
    assert config.agents == {"a": LoadedDeployment("x.y:1", False, "{}", timeouts, 10 * SECOND)}
    assert config.agent_for_task_types == {"MyTask": "a", "my.dotted": "a"}
    assert config.supported_task_types == ["MyTask", "my.dotted"]
    assert config.default_for_task_types == {"mytask": section}
    assert not config.unknown


def test_all_formats_say_the_same():
    bundle = bundle_of(published("one", "acme", content({"no": "y", "1.10": "y"})))

    config_map = yaml.safe_load(as_config_map(bundle, name="flyte-agents", namespace="flyte", revision=7))

    assert list(config_map["data"]) == ["agent_service.yaml"]
    assert config_map["metadata"]["annotations"] == {
        "controlplane/sha256": bundle_digest(bundle),
        "controlplane/revision": "7",
    }
    assert load(config_map["data"]["agent_service.yaml"]) == load(as_yaml(bundle)) == load(as_json(bundle))
    assert load(as_yaml(bundle)).supported_task_types == ["1.10", "no"]
    assert json.loads(as_json(bundle)) == render_configuration(bundle)


@pytest.mark.parametrize(
    ("dialect", "placeholders"),
    [(Dialect.AGENT, ["task_type_1", "task_type_2"]), (Dialect.CONNECTOR, ["task_type_3", "task_type_4"])],
)
def test_without_claims_something_is_supported_still(dialect, placeholders):
    section = "agent-service" if dialect is Dialect.AGENT else "connector-service"

    assert load(as_yaml(bundle_of(dialect=dialect)), section=section).supported_task_types == placeholders
    assert bundle_of(placeholders=("nothing",)).supported == ("nothing",)


@pytest.mark.parametrize(
    ("facts", "release", "dialect", "mapped"),
    [
        (TaskTypeFacts(), (1, 16, 0), Dialect.AGENT, True),
        (TaskTypeFacts(is_sync=True), (1, 16, 0), Dialect.AGENT, False),
        (TaskTypeFacts(version=1), (1, 16, 0), Dialect.CONNECTOR, False),
        (TaskTypeFacts(is_sync=True), (1, 15, 3), Dialect.AGENT, True),
        (TaskTypeFacts(version=1), (1, 15, 3), Dialect.AGENT, True),
        (TaskTypeFacts(is_sync=True), (2, 0, 0), Dialect.CONNECTOR_V2, True),
        (TaskTypeFacts(version=1), (2, 0, 0), Dialect.CONNECTOR_V2, False),
    ],
)
def test_a_mapping_is_left_out_where_it_would_hide_what_is_discovered(facts, release, dialect, mapped):
    document = published("one", "acme", content({"t": "a"}), facts={"t": facts})

    bundle = bundle_of(document, release=release, dialect=dialect)

    assert bundle.mappings == ({"t": "a"} if mapped else {})
    assert bundle.supported == ("t",)


def test_a_canary_is_pinned_and_discovered():
    stable = published("stable", "acme", content({"t": "a"}), age=1)
    canary = published("canary", "acme", content({"t": "b"}), canary=Canary("search", "staging"))

    bundle = bundle_of(stable, canary, dialect=Dialect.CONNECTOR_V2)

    config = load(as_yaml(bundle), section="connector-service")
    assert config.agent_for_task_types == {"t": "a"}
    assert (config.agents["b"].project, config.agents["b"].domain) == ("search", "staging")
    assert config.agents["a"].project == ""
    assert load(as_yaml(bundle_of(stable, canary))).agents.keys() == {"a"}


@pytest.mark.parametrize(
    ("enabled", "defaults"),
    [((), ("t",)), (("container", " Agent-Service "), ("t",)), (("container", "connector-service"), ())],
)
def test_defaults_are_written_only_where_the_plugin_runs(enabled, defaults):
    document = published("one", "acme", content({"t": "a"}, None, "t"))

    assert bundle_of(document, enabled_plugins=enabled).defaults == defaults


def test_an_agent_that_lost_everything_is_left_out_and_an_idle_one_is_not():
    winner = published("winner", "acme", content({"t": "a"}), age=3)
    loser = published("loser", "other", content({"t": "b"}))
    idle = published("idle", "third", content({}, {"idle": agent()}))

    bundle = bundle_of(winner, loser, idle)

    assert bundle.agents.keys() == {"a", "idle"}
    assert bundle.documents() == {winner.id, idle.id}


def test_ids_that_carry_their_team_already_keep_their_settings():
    document = published("one", "acme", content({"t": "x", "u": "acme--x"}))
    policy = ClaimPolicy(naming=Naming(namespaced_ids=True))

    bundle = recompute(RecomputeInputs([document], Target(), policy=policy), now=NOW).bundle

    endpoints = {name: each.deployment.endpoint for name, each in bundle.agents.items()}
    assert endpoints == {"acme--x": "x.svc:8000", "acme--acme--x": "acme--x.svc:8000"}


def test_what_the_platform_sets_is_part_of_the_document():
    platform = {
        "pollInterval": "30s",
        "defaultAgent": {"endpoint": "k8s://flyteagent.flyte:8000", "insecure": True},
    }

    outcome = recomputed(published("one"), platform=platform)

    config = load(as_yaml(outcome.bundle))
    assert not outcome.holds
    assert config.poll_interval == 30 * SECOND
    assert config.default_agent == LoadedDeployment("k8s://flyteagent.flyte:8000", True)


def test_where_a_claim_comes_from_does_not_change_the_document():
    document, other = published("one"), published("other", said=published("one").content)

    assert (
        bundle_digest(bundle_of(document))
        == bundle_digest(bundle_of(other))
        == bundle_digest(bundle_of(document, other))
    )
    assert [str(source.document) for source in bundle_of(document, other).inputs] == [
        "cluster/acme/one",
        "cluster/acme/other",
    ]


def test_a_timeout_of_listing_from_before_the_limit_is_cut():
    deployment = agent("x.y:1", timeouts={Operation.LIST: MINUTE})
    bundle = bundle_of(published("one", said=content({"t": "a"}, {"a": deployment})))

    assert bundle.agents["a"].deployment.timeouts[Operation.LIST] == 5 * SECOND
