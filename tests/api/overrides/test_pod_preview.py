"""Previews of pods through HTTP: what is in effect at a scope, who set it, and mistakes."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.scopes import Scope
from tests.support.api_client import Api, make_project, token_for
from tests.support.paths import ROOT

FOLDER = ROOT / "examples" / "resource-types"
TASK = {"container": {"image": "example/task:v1", "resources": {"requests": {"gpu": 1}}}}
TEMPLATE = {
    "metadata": {"name": "flyte-default", "namespace": "flyte"},
    "template": {"spec": {"containers": [{"name": "default", "terminationMessagePath": "/dev/foo"}]}},
}


def apply(api: Any, *names: str) -> None:
    for name in names:
        api.post("overrides:apply", (FOLDER / f"{name}.yaml").read_bytes(), Content_Type="application/yaml")


def preview(api: Any, **body: Any) -> Any:
    return api.post("overrides/pod-preview", {"task": TASK, **body})


def test_a_preview_takes_what_is_in_effect_and_says_who_set_it(api):
    make_project()
    apply(api, "k8s_plugin", "default_pod_template", "gpu_node_labels")
    api.put("overrides/k8s_plugin", {"attributes": {"default_labels": {"team": "all", "of": "all"}}})
    own = {"default_labels": {"of": "shop"}, "default_tolerations": [{"key": "a", "operator": "Exists"}]}
    api.put("overrides/k8s_plugin?project=flytesnacks", {"attributes": own})
    api.put("overrides/default_pod_template", {"attributes": {"name": "flyte-default"}})
    gpus = {"resource_tolerations": {"nvidia.com/gpu": [{"key": "gpu", "operator": "Exists"}]}}
    api.put("overrides/gpu_node_labels?domain=development", {"attributes": gpus})

    answer = preview(api, project="flytesnacks", domain="development", pod_templates=[TEMPLATE]).json()

    assert answer["pod"]["metadata"] == {
        "namespace": "flytesnacks-development",
        "labels": {"team": "all", "of": "shop"},
    }
    (container,) = answer["pod"]["spec"]["containers"]
    assert container["terminationMessagePath"] == "/dev/foo"
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 1}
    assert [each["key"] for each in answer["pod"]["spec"]["tolerations"]] == ["gpu", "a"]
    assert answer["pod_template"] == "flyte/flyte-default"
    by_pointer = {each["pointer"]: each for each in answer["sources"]}
    assert by_pointer["/metadata/labels/of"]["scope"]["project"] == "flytesnacks"
    assert by_pointer["/metadata/labels/team"]["scope"]["level"] == "global"
    assert by_pointer["/metadata/labels/team"]["version"] == 1
    assert by_pointer["/spec/containers/0/image"]["version"] is None
    assert by_pointer["/spec/tolerations/0/key"]["scope"]["domain"] == "development"
    assert by_pointer["/spec/tolerations/1/key"]["source"] == "k8s_plugin"
    assert by_pointer["/spec/containers/0/terminationMessagePath"]["name"] == "flyte/flyte-default"
    assert by_pointer["/spec/containers/0/image"]["scope"] is None


def test_a_preview_needs_no_resource_type_and_no_scope(api):
    answer = preview(api, k8s_plugin={"default_env_vars": [{"name": "A", "value": "1"}]}).json()
    assert answer["pod"]["spec"]["containers"][0]["env"] == [{"name": "A", "value": "1"}]
    assert answer["pod"]["metadata"]["namespace"] == "default"
    assert "image: example/task:v1" in answer["text"]


def test_a_task_that_flyte_would_fail_has_no_pod(api):
    answer = preview(api, task={**TASK, "pod_template_name": "mine"}).json()
    assert answer["pod"] is None
    assert "'mine'" in answer["failure"]


INVALID = [
    ({"task": {}}, "/task"),
    ({"task": {"container": {}, "pod_spec": {}}}, "/task"),
    ({"task": {"pod_spec": {"containers": [{"image": "a"}]}}}, "/task/pod_spec/containers/0"),
    ({"task": {"pod_spec": {"containers": [{"name": "a"}] * 51}}}, "/task/pod_spec/containers"),
    ({"task": {"container": {"resources": {"limits": 1}}}}, "/task/container/resources/limits"),
    ({"pod_templates": [{"metadata": {"name": "a"}}]}, "/pod_templates/0"),
    ({"pod_templates": [TEMPLATE] * 21}, "/pod_templates"),
    ({"k8s_plugin": {"default_labels": {"a": 1}}}, "/k8s_plugin/default_labels/a"),
    ({"gpu_node_labels": {"resource_tolerations": []}}, "/gpu_node_labels/resource_tolerations"),
    ({"tasks": {}}, "/tasks"),
]


@pytest.mark.parametrize(("body", "pointer"), INVALID)
def test_a_mistake_is_named_where_it_is(api, body, pointer):
    answer = preview(api, **body)
    assert answer.status_code in (400, 422), answer.json()
    assert any(error["pointer"].startswith(pointer) for error in answer.json()["errors"]), answer.json()


def test_given_attributes_are_checked_by_their_resource_type(api):
    apply(api, "k8s_plugin")
    answer = preview(api, k8s_plugin={"default_lables": {"a": "b"}})
    assert answer.status_code == 422
    assert "default_labels" in answer.json()["errors"][0]["message"]


def test_what_a_caller_may_not_read_is_not_previewed(api):
    make_project()
    viewer = Api(token_for("viewer", scope=Scope(project="flytesnacks")))
    assert preview(viewer, project="flytesnacks").status_code == 200
    assert preview(viewer).status_code == 403
    assert preview(viewer, project="other").status_code == 403
