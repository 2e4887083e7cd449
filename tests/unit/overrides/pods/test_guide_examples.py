"""The three examples of Flyte's page "Configuring task pods with K8s PodTemplates", by what FlytePropeller 1.16 does.

The page and the code differ, and the code decides (tests/nightly/test_flyte_pods.py runs it):

* Examples 2 and 3 print a container `default`: PodTemplates add no containers.
* Example 1 prints `foo: overridden-value`, and example 3 `value-plugin`: default labels and annotations lie below
  those of PodTemplates and tasks, so theirs apply.
* Example 3 leaves out `label_3` of the PodTemplate.
"""

from __future__ import annotations

from typing import Any

from overrides.pods.merging import plain, sources
from overrides.pods.preview import Configuration, Namespaces, PodTemplate, Preview, Task, preview

NAMESPACES = Namespaces("flytesnacks-development")
NOOP = {"name": "default", "image": "docker.io/rwgrim/docker-noop", "terminationMessagePath": "/dev/foo"}
PRIMARY = {"name": "primary", "image": "a.b.c/image:v1", "command": ["cmd"], "args": []}
DEFAULT = {"name": "flyte-template"}


def template(namespace: str, *, metadata: dict[str, Any], **spec: Any) -> PodTemplate:
    return PodTemplate(namespace, "flyte-template", metadata, {"containers": [NOOP], **spec})


def source_of(found: Preview, pointer: str) -> str:
    kinds = {
        **{f"/metadata{at}": source.kind for at, source in sources(found.metadata)},
        **{f"/spec{at}": source.kind for at, source in sources(found.spec)},
    }
    return kinds[pointer]


def test_example_1_a_pod_template_and_the_plugin():
    found = preview(
        Task(container={"name": "ax9kd5xb4p8r45bpdv7v-n0-0", "image": "flytecookbook:core"}),
        [
            template(
                "flyte",
                metadata={
                    "labels": {"foo": "from-pod-template"},
                    "annotations": {"foo": "initial-value", "bar": "initial-value"},
                },
                hostNetwork=False,
            )
        ],
        Configuration(
            k8s_plugin={
                "default_labels": {"bar": "from-default-label"},
                "default_annotations": {"foo": "overridden-value", "baz": "non-overridden-value"},
                "enable_host_networking_pod": True,
            },
            default_pod_template=DEFAULT,
        ),
        NAMESPACES,
    )

    assert plain(found.metadata) == {
        "namespace": "flytesnacks-development",
        "labels": {"foo": "from-pod-template", "bar": "from-default-label"},
        "annotations": {"foo": "initial-value", "bar": "initial-value", "baz": "non-overridden-value"},
    }
    assert plain(found.spec) == {
        "containers": [
            {
                "name": "ax9kd5xb4p8r45bpdv7v-n0-0",
                "image": "flytecookbook:core",
                "terminationMessagePath": "/dev/foo",
                "terminationMessagePolicy": "FallbackToLogsOnError",
            }
        ],
        "hostNetwork": True,
        "restartPolicy": "Never",
    }
    assert source_of(found, "/metadata/annotations/baz") == "k8s_plugin"
    assert source_of(found, "/metadata/labels/foo") == "pod_template"
    assert source_of(found, "/spec/containers/0/terminationMessagePath") == "pod_template"
    assert source_of(found, "/spec/containers/0/image") == "task"
    assert source_of(found, "/spec/hostNetwork") == "k8s_plugin"
    assert found.notes == ("default_annotations: foo does not apply, because the PodTemplate sets it.",)


def test_example_2_two_pod_templates():
    found = preview(
        Task(
            pod_spec={"containers": [PRIMARY]},
            primary_container_name="primary",
            metadata={
                "labels": {"label_1": "value-1", "label_2": "value-2"},
                "annotations": {"annotation_1": "value-1", "annotation_2": "value-2"},
            },
        ),
        [
            template(
                "flytesnacks-development",
                metadata={"annotations": {"annotation_1": "initial-value", "bar": "initial-value"}},
            )
        ],
        Configuration(default_pod_template=DEFAULT),
        NAMESPACES,
    )

    assert plain(found.metadata) == {
        "namespace": "flytesnacks-development",
        "labels": {"label_1": "value-1", "label_2": "value-2"},
        "annotations": {"annotation_1": "value-1", "annotation_2": "value-2", "bar": "initial-value"},
    }
    assert plain(found.spec)["containers"] == [{**NOOP, **PRIMARY}]


def test_example_3_two_pod_templates_and_the_plugin():
    found = preview(
        Task(
            pod_spec={"containers": [PRIMARY], "hostNetwork": True},
            primary_container_name="primary",
            metadata={
                "labels": {"label_1": "value-compile", "label_2": "value-compile"},
                "annotations": {"annotation_1": "value-compile", "annotation_2": "value-compile"},
            },
        ),
        [
            template(
                "flyte",
                metadata={
                    "labels": dict.fromkeys(("label_1", "label_2", "label_3"), "value-runtime"),
                    "annotations": {"foo": "value-runtime", "bar": "value-runtime"},
                },
                hostNetwork=False,
            )
        ],
        Configuration(
            k8s_plugin={
                "default_labels": {"label_1": "value-plugin"},
                "default_annotations": {"annotation_1": "value-plugin", "baz": "value-plugin"},
            },
            default_pod_template=DEFAULT,
        ),
        NAMESPACES,
    )

    assert plain(found.metadata) == {
        "namespace": "flytesnacks-development",
        "labels": {"label_1": "value-compile", "label_2": "value-compile", "label_3": "value-runtime"},
        "annotations": {
            "annotation_1": "value-compile",
            "annotation_2": "value-compile",
            "foo": "value-runtime",
            "bar": "value-runtime",
            "baz": "value-plugin",
        },
    }
    assert plain(found.spec)["containers"] == [{**NOOP, **PRIMARY}]
    assert plain(found.spec)["hostNetwork"] is True
