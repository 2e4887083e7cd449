"""The resource types that we ship as examples: each can be applied, set and resolved as it is."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.formats import strict_yaml
from tests.support.api_client import make_project
from tests.support.paths import ROOT

FOLDER = ROOT / "examples" / "resource-types"
FILES = sorted(FOLDER.glob("*.yaml"))


def test_those_that_flytes_guide_would_want_are_there():
    assert {path.stem for path in FILES} == {
        "default_pod_template",
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
    ("secret_settings", {"manager": "aws", "aws": {"image": "example/aws-secret-sidecar:v0.1.4"}}),
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
