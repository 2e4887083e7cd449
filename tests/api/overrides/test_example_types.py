"""The resource types that we ship as examples: each can be applied, set and resolved as it is."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.formats import strict_yaml
from controlplane.scopes import Scope
from tests.support.api_client import Api, make_project, token_for
from tests.support.paths import ROOT

FOLDER = ROOT / "examples" / "resource-types"
FILES = sorted(FOLDER.glob("*.yaml"))


def test_those_that_flytes_guide_would_want_are_there():
    assert {path.stem for path in FILES} == {
        "cluster_resource_templates",
        "default_pod_template",
        "execution_queues",
        "gpu_node_labels",
        "k8s_plugin",
        "notification_defaults",
        "pool_limits",
        "propeller_tuning",
        "secret_settings",
        "task_log_links",
        "workflow_priority",
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_type_works_from_its_file_to_an_effective_value(api, path):
    make_project()
    definition = strict_yaml.load(path.read_text())["definition"]
    example = definition["example"]
    at = "project=flytesnacks" if "project" in definition.get("levels", ["project"]) else "domain=development"

    applied = api.post("overrides:apply", path.read_bytes(), Content_Type="application/yaml")
    again = api.post("overrides:apply", path.read_bytes(), Content_Type="application/yaml")
    written = api.put(f"overrides/{path.stem}?{at}", {"attributes": example})
    (answer,) = api.get(f"overrides/effective?{at}&resource_type={path.stem}").json()["items"]

    assert applied.json()["installation"] == [
        {"kind": "resourceType", "name": path.stem, "change": "created"}
    ]
    assert again.json()["installation"] == []
    assert written.status_code == 201
    assert example.items() <= answer["attributes"].items()


def _links(uri: str) -> dict[str, Any]:
    return {"links": [{"name": "Loki", "template_uris": [uri]}]}


REFUSED = [
    ("task_log_links", _links("https://logs.example.com/?pod={{ .podNam }}"), "/links/0/template_uris/0"),
    (
        "task_log_links",
        _links('https://logs.example.com/?pod={{ "{{" }} .podName }}'),
        "/links/0/template_uris/0",
    ),
    ("task_log_links", _links("logs.example.com/{{ .podName }}"), "/links/0/template_uris/0"),
    ("task_log_links", {"dynamic": {"wandb": {"display_name": "W"}}}, "/dynamic/wandb"),
    (
        "gpu_node_labels",
        {"unpartitioned_node_selector_requirement": {"key": "partition", "operator": "Equal"}},
        "/unpartitioned_node_selector_requirement/operator",
    ),
    ("default_pod_template", {"name": "flyte", "resync": "30"}, "/resync"),
    ("k8s_plugin", {"default_env_vars": [{"name": "1X", "value": "a"}]}, "/default_env_vars/0/name"),
    ("k8s_plugin", {"co_pilot": {"start_timeout": "soon"}}, "/co_pilot/start_timeout"),
    ("secret_settings", {"manager": "azure"}, "/manager"),
    ("secret_settings", {"vault": {"role": "hvs.CAESIJ"}}, "/vault/role"),
    ("secret_settings", {"vault": {"annotations": {"key": "AKIAIOSFODNN7"}}}, "/vault/annotations/key"),
    ("secret_settings", {"aws": {"image": "Zm9vYmFyYmF6cXV4MTIzNDU2"}}, "/aws/image"),
    ("secret_settings", {"file_prefix": "0123456789abcdef0123456789abcdef"}, "/file_prefix"),
    (
        "propeller_tuning",
        {"shard": {"type": "Domain", "per_shard_mapping": [["production", "*"]]}},
        "/shard/per_shard_mapping/0",
    ),
    ("cluster_resource_templates", {"namespace": "{{project}}"}, "/namespace"),
    ("cluster_resource_templates", {"values": {"namespace": "a"}}, "/values/namespace"),
    ("cluster_resource_templates", {"templates": [{"name": "a.yaml", "text": ""}]}, "/templates/0/name"),
    ("execution_queues", {"queues": [{"attributes": ["gpu"]}]}, "/queues/0"),
    ("propeller_tuning", {"workers": 0}, "/workers"),
    ("propeller_tuning", {"shard": {"type": "Hash"}}, "/shard"),
    ("propeller_tuning", {"shard": {"type": "Project", "per_shard_mapping": [["*"], ["*"]]}}, "/shard"),
]


@pytest.mark.parametrize(("name", "attributes", "place"), REFUSED)
def test_a_value_that_flyte_would_not_understand_is_refused_where_it_is(api, name, attributes, place):
    api.post("overrides:apply", (FOLDER / f"{name}.yaml").read_bytes(), Content_Type="application/yaml")
    answer = api.put(f"overrides/{name}", {"attributes": attributes})
    assert answer.status_code == 422, answer.json()
    # What is incomplete is found in the effective value, and its place is in the message.
    places = [error["pointer"] + error["message"] for error in answer.json()["errors"]]
    assert any(place in found for found in places), places
    assert "hvs.CAESIJ" not in answer.content.decode()


ACCEPTED = [
    ("task_log_links", _links("https://logs.example.com/{{ .taskConfig.run_id }}?pod={{.podName}}&a={b}")),
    ("task_log_links", {"cloudwatch": {"enabled": True, "region": "us-east-2", "log_group": "/eks/flyte"}}),
    (
        "gpu_node_labels",
        {"unpartitioned_node_selector_requirement": {"key": "p", "operator": "DoesNotExist"}},
    ),
    ("propeller_tuning", {"shard": {"type": "Hash", "shard_count": 3}}),
    (
        "secret_settings",
        {"manager": "aws", "aws": {"image": "docker.io/amazon/aws-secrets-manager-secret-sidecar:v0.1.4"}},
    ),
    (
        "secret_settings",
        {"vault": {"annotations": {"vault.hashicorp.com/agent-inject-template-a": "a long text, 1 A"}}},
    ),
]


@pytest.mark.parametrize(("name", "attributes"), ACCEPTED)
def test_values_of_flytes_guide_are_accepted(api, name, attributes):
    api.post("overrides:apply", (FOLDER / f"{name}.yaml").read_bytes(), Content_Type="application/yaml")
    answer = api.put(f"overrides/{name}", {"attributes": attributes})
    assert answer.status_code == 201, answer.json()


def test_effective_values_are_rendered_for_flytes_charts(api):
    make_project()
    for name in ("task_log_links", "k8s_plugin"):
        api.post("overrides:apply", (FOLDER / f"{name}.yaml").read_bytes(), Content_Type="application/yaml")
    api.put("overrides/k8s_plugin", {"attributes": {"default_labels": {"team": "all"}}})
    api.put("overrides/k8s_plugin?project=flytesnacks", {"attributes": {"default_labels": {"of": "shop"}}})
    api.put("overrides/task_log_links", {"attributes": _links("https://logs.example.com/{{ .podName }}")})
    api.put("overrides/task_resource", {"attributes": {"defaults": {"cpu": "1"}}})

    answer = api.get(
        "overrides/effective/render?project=flytesnacks&format=flyte-helm&chart=flyte-binary"
    ).json()
    only = api.get("overrides/effective/render?type=k8s_plugin").json()

    plugins = answer["content"]["configuration"]["inline"]["plugins"]
    assert plugins["k8s"]["default-labels"] == {"team": "all", "of": "shop"}
    assert plugins["logs"]["templates"][0]["templateUris"] == [
        'https://logs.example.com/{{ "{{" }} .podName }}'
    ]
    assert strict_yaml.load(answer["text"]) == answer["content"]
    assert answer["left_out"] == ["task_resource"]
    assert only["content"] == {
        "configmap": {"k8s": {"plugins": {"k8s": {"default-labels": {"team": "all"}}}}}
    }


@pytest.mark.parametrize(
    ("query", "status"),
    [("format=toml", 400), ("chart=flyte", 400), ("type=nothing", 404), ("project=x", 404)],
)
def test_a_rendering_that_is_not_there_is_refused(api, query, status):
    assert api.get(f"overrides/effective/render?{query}").status_code == status


def test_near_misses_of_variables_are_named(api):
    api.post(
        "overrides:apply", (FOLDER / "task_log_links.yaml").read_bytes(), Content_Type="application/yaml"
    )
    answer = api.put("overrides/task_log_links", {"attributes": _links("https://a/{{ .podNam }}")})
    (error,) = answer.json()["errors"]
    assert "Unknown variable 'podNam'. Did you mean 'podName'?" in error["message"]


def test_the_operator_that_flytes_guide_prints_is_refused_with_the_right_one(api):
    api.post(
        "overrides:apply", (FOLDER / "gpu_node_labels.yaml").read_bytes(), Content_Type="application/yaml"
    )
    printed = {"key": "partition", "operator": "Equal", "value": "DoesNotExist"}
    answer = api.put(
        "overrides/gpu_node_labels", {"attributes": {"unpartitioned_node_selector_requirement": printed}}
    )
    by_place = {error["pointer"].rpartition("/")[2]: error for error in answer.json()["errors"]}
    assert by_place.keys() == {"operator", "value"}
    assert "`operator: DoesNotExist`, without a value" in by_place["operator"]["hint"]


def test_cluster_resources_of_a_project_and_domain(api):
    make_project()
    path = "overrides/effective/cluster-resources?project=flytesnacks&domain=development"
    assert api.get(path).status_code == 404, "The type is not defined yet."
    for name in ("cluster_resource_templates", "k8s_plugin"):
        api.post("overrides:apply", (FOLDER / f"{name}.yaml").read_bytes(), Content_Type="application/yaml")
    assert api.get(path).json()["namespace"] == "flytesnacks-development"
    example = strict_yaml.load((FOLDER / "cluster_resource_templates.yaml").read_text())["definition"][
        "example"
    ]
    api.put("overrides/cluster_resource_templates", {"attributes": example})
    own = {"attributes": {"projectQuotaCpu": "8", "projectQuotaRam": "1Gi"}}
    api.put("overrides/cluster_resource?project=flytesnacks&domain=development", {"attributes": own})

    answer = api.get(path).json()

    namespace, quota = answer["resources"]
    assert namespace["manifest"]["metadata"] == {"name": "flytesnacks-development"}
    assert quota["manifest"]["spec"] == {"hard": {"limits.cpu": 8}}
    (warning,) = answer["warnings"]
    assert warning["pointer"] == "/attributes/projectQuotaRam"
    assert warning["resource_type"] == "cluster_resource"
    revision = api.get("overrides/cluster_resource_templates").json()["revision"]
    assert api.get(f"{path}&as_of={revision}").json()["resources"][1]["manifest"] is not None
    assert api.get(f"{path}&as_of={revision - 1}").json()["resources"] == []


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("project=flytesnacks", 400),
        ("project=x&domain=development", 404),
        ("project=flytesnacks&domain=x", 404),
    ],
)
def test_cluster_resources_need_a_project_and_a_domain(api, query, status):
    make_project()
    api.post(
        "overrides:apply",
        (FOLDER / "cluster_resource_templates.yaml").read_bytes(),
        Content_Type="application/yaml",
    )
    assert api.get(f"overrides/effective/cluster-resources?{query}").status_code == status


def test_cluster_resources_are_for_who_may_read_the_scope(api):
    make_project()
    viewer = Api(token_for("viewer", scope=Scope(project="other")))
    answer = viewer.get("overrides/effective/cluster-resources?project=flytesnacks&domain=development")
    assert answer.status_code == 403


def test_a_tag_that_no_queue_has_is_a_warning_wherever_effective_values_are_read(api):
    make_project()
    api.post(
        "overrides:apply", (FOLDER / "execution_queues.yaml").read_bytes(), Content_Type="application/yaml"
    )
    at = "project=flytesnacks"
    api.put(f"overrides/execution_queue?{at}", {"attributes": {"tags": ["critical", "gpus"]}})
    assert _warnings(api, at) == [], "Without queues, every tag may be right."
    queues = {"queues": [{"dynamic": "gpu_dynamic", "attributes": ["gpu", "critical"]}]}
    plan = api.post("overrides/execution_queues:preview", {"attributes": queues}).json()
    found = {(each["resource_type"], each["scope"]["project"], each["pointer"]) for each in plan["warnings"]}
    assert found == {("execution_queue", "flytesnacks", "/tags/1")}
    written = api.put("overrides/execution_queues", {"attributes": queues})
    assert written.status_code == 201

    assert _warnings(api, at) == [
        ("/tags/1", "'gpus' matches nothing in execution_queues, so it has no effect. Did you mean 'gpu'?")
    ]
    (rendered,) = api.get(f"overrides/effective/render?{at}").json()["warnings"]
    assert (rendered["resource_type"], rendered["pointer"]) == ("execution_queue", "/tags/1")
    batch = api.post("overrides/effective:batch", {"scopes": [{"project": "flytesnacks"}, {}]}).json()
    assert [len(item["warnings"]) for each in batch["items"] for item in each["items"]] == [1, 0, 0]

    queues["queues"].append({"dynamic": "many", "attributes": ["gpus"]})
    etag = written["ETag"]
    assert api.put("overrides/execution_queues", {"attributes": queues}, If_Match=etag).status_code == 200
    assert _warnings(api, at) == []


def _warnings(api: Any, at: str) -> list[tuple[str, str]]:
    items = api.get(f"overrides/effective?{at}").json()["items"]
    (found,) = (item["warnings"] for item in items if item["resource_type"] == "execution_queue")
    return [(warning["pointer"], warning["message"]) for warning in found]
