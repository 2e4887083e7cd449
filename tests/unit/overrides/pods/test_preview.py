"""Rules of previews, one by one. What Flyte itself does with generated input is in tests/nightly."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overrides.pods.gpus import Accelerator
from overrides.pods.merging import Source, merged, plain, sourced, sources
from overrides.pods.preview import Configuration, Namespaces, PodTemplate, Task, preview

NAMESPACES = Namespaces("shop-development", "flyte")
NONE = Configuration()
DEFAULT = Configuration(default_pod_template={"name": "base"})
GPU = {"resources": {"requests": {"gpu": "1"}}}


def template(namespace: str = "flyte", name: str = "base", **spec: Any) -> PodTemplate:
    return PodTemplate(namespace, name, {}, spec)


def spec_of(task: Task, *templates: PodTemplate, configuration: Configuration = DEFAULT) -> Any:
    return plain(preview(task, templates, configuration, NAMESPACES).spec)


def both(below: Any, above: Any) -> Any:
    return plain(merged(sourced(below, Source("below")), sourced(above, Source("above"))))


@pytest.mark.parametrize(
    ("below", "above", "expected"),
    [
        ({"a": 1, "b": {"c": 1}}, {"b": {"d": 2}}, {"a": 1, "b": {"c": 1, "d": 2}}),
        ({"a": [1]}, {"a": [1, 2]}, {"a": [1, 1, 2]}),
        ({"a": "x"}, {"a": ""}, {"a": "x"}),
        ({"a": True}, {"a": False}, {"a": True}),
        ({"a": 30}, {"a": 0}, {"a": 30}),
        ({}, {"a": False}, {"a": False}),
        ({"labels": {"a": "x"}}, {"labels": {"a": ""}}, {"labels": {"a": ""}}),
        ({"port": "http"}, {"port": 8080}, {"port": "http"}),
        ({"port": 8080}, {"port": "http"}, {"port": "http"}),
        ({"limits": {"cpu": "500m"}}, {"limits": {"cpu": 1}}, {"limits": {"cpu": 1}}),
        ({"a": 1}, {"a": None}, {"a": 1}),
    ],
)
def test_parts_merge_as_in_go(below, above, expected):
    assert both(below, above) == expected


DOCUMENTS = st.recursive(
    st.text(max_size=2) | st.integers(0, 2) | st.booleans(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(below=DOCUMENTS, above=DOCUMENTS)
def test_each_value_of_a_result_has_the_source_that_has_it(below, above):
    documents = {"below": below, "above": above}
    result = merged(sourced(below, Source("below")), sourced(above, Source("above")))
    found = [
        (source.kind, value)
        for (_, source), value in zip(sources(result), leaves(plain(result)), strict=True)
    ]
    for kind, value in found:
        assert value in leaves(documents[kind])


def leaves(document: Any) -> list[Any]:
    if isinstance(document, dict):
        return [leaf for item in document.values() for leaf in leaves(item)]
    if isinstance(document, list):
        return [leaf for item in document for leaf in leaves(item)]
    return [document]


def test_the_pod_template_of_the_pods_own_namespace_comes_first():
    own, shared = template("shop-development", hostPID=True), template("flyte", hostIPC=True)
    assert "hostPID" in spec_of(Task(), shared, own)
    assert "hostIPC" in spec_of(Task(), shared, template("elsewhere", hostPID=True))


def test_the_pod_template_that_a_task_names_replaces_the_default():
    named = template(name="mine", hostPID=True)
    found = spec_of(Task(pod_template_name="mine"), template(hostIPC=True), named)
    assert found["hostPID"] is True
    assert "hostIPC" not in found


def test_a_default_pod_template_that_is_not_there_is_a_note_and_a_named_one_a_failure():
    assert "'base'" in preview(Task(), [], DEFAULT, NAMESPACES).notes[0]
    found = preview(Task(pod_template_name="mine"), [template()], DEFAULT, NAMESPACES)
    assert "'mine'" in found.failure
    assert found.spec == {}


def test_a_pod_without_its_primary_container_fails():
    task = Task(pod_spec={"containers": [{"name": "a"}]}, primary_container_name="b")
    assert "'b'" in preview(task, [], NONE, NAMESPACES).failure


def test_default_and_primary_are_the_base_of_containers_and_all_others_go():
    base = template(
        containers=[
            {"name": "default", "args": ["d"], "image": "noop"},
            {"name": "primary", "args": ["p"]},
            {"name": "sidecar", "args": ["s"]},
            {"name": "noop"},
        ],
        initContainers=[{"name": "default-init", "image": "init"}, {"name": "other"}],
    )
    containers = [{"name": "main", "args": ["m"]}, {"name": "sidecar", "image": "own"}]
    task = Task(
        pod_spec={"containers": containers, "initContainers": [{"name": "prepare"}]},
        primary_container_name="main",
    )
    found = preview(task, [base], DEFAULT, NAMESPACES)
    assert plain(found.spec)["containers"] == [
        {"name": "main", "args": ["d", "p", "m"], "image": "noop"},
        {"name": "sidecar", "args": ["d", "s"], "image": "own"},
    ]
    assert plain(found.spec)["initContainers"] == [{"name": "prepare", "image": "init"}]
    assert [note.split("'")[1] for note in found.notes] == ["noop", "other"]


def test_the_hosts_network_cannot_be_turned_off_under_a_pod_template():
    configuration = Configuration({"enable_host_networking_pod": False}, {}, {"name": "base"})
    found = preview(Task(), [template(hostNetwork=True)], configuration, NAMESPACES)
    assert plain(found.spec)["hostNetwork"] is True
    assert found.notes == (
        "enable_host_networking_pod: false does not turn off hostNetwork of the PodTemplate.",
    )


def test_tolerations_of_a_resource_are_for_pods_that_request_it():
    of_gpu = {"nvidia.com/gpu": [{"key": "gpu", "toleration_seconds": 5}]}
    configuration = Configuration({"default_tolerations": [{"key": "all"}]}, {"resource_tolerations": of_gpu})
    without = spec_of(Task(), configuration=configuration)
    assert without["tolerations"] == [{"key": "all"}]
    found = spec_of(Task(container=GPU), configuration=configuration)
    assert found["tolerations"] == [{"key": "gpu", "tolerationSeconds": 5}, {"key": "all"}]


def test_the_name_of_the_gpu_resource_is_that_of_the_nodes():
    configuration = Configuration(gpu_node_labels={"gpu_resource_name": "amd.com/gpu"})
    (container,) = spec_of(Task(container=GPU), configuration=configuration)["containers"]
    amount = {"amd.com/gpu": "1"}
    assert container["resources"] == {"requests": amount, "limits": amount}


def test_a_task_without_a_gpu_gets_nothing_for_its_accelerator():
    task = Task(accelerator=Accelerator(device="nvidia-tesla-t4"))
    assert "affinity" not in spec_of(task, configuration=NONE)


def test_each_alternative_of_an_affinity_gets_the_requirements_of_the_accelerator():
    terms = [{"matchExpressions": [{"key": "zone"}]}, {}]
    affinity = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    }
    spec = {"containers": [{"name": "a", **GPU}], "affinity": affinity}
    task = Task(pod_spec=spec, primary_container_name="a", accelerator=Accelerator(device="t4"))
    found = spec_of(task, configuration=NONE)["affinity"]["nodeAffinity"]
    added = {"key": "k8s.amazonaws.com/accelerator", "operator": "In", "values": ["t4"]}
    assert found["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] == [
        {"matchExpressions": [{"key": "zone"}, added]},
        {"matchExpressions": [added]},
    ]
