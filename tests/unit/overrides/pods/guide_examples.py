"""The three examples of Flyte's page "Configuring task pods with K8s PodTemplates", as input of a preview."""

from __future__ import annotations

from typing import Any

NOOP = {"name": "default", "image": "docker.io/rwgrim/docker-noop", "terminationMessagePath": "/dev/foo"}
PRIMARY = {"name": "primary", "image": "a.b.c/image:v1", "command": ["cmd"], "args": []}
DEFAULT = {"name": "flyte-template"}


def _template(namespace: str, metadata: dict[str, Any], **spec: Any) -> dict[str, Any]:
    named = {"name": "flyte-template", "namespace": namespace}
    return {"metadata": named, "template": {"metadata": metadata, "spec": {"containers": [NOOP], **spec}}}


EXAMPLE_1: dict[str, Any] = {
    "task": {"container": {"name": "task", "image": "flytecookbook:core"}},
    "templates": [
        _template(
            "flyte",
            {
                "labels": {"foo": "from-pod-template"},
                "annotations": {"foo": "initial-value", "bar": "initial-value"},
            },
            hostNetwork=False,
        )
    ],
    "configuration": {
        "k8s_plugin": {
            "default_labels": {"bar": "from-default-label"},
            "default_annotations": {"foo": "overridden-value", "baz": "non-overridden-value"},
            "enable_host_networking_pod": True,
        },
        "default_pod_template": DEFAULT,
    },
}
EXAMPLE_2: dict[str, Any] = {
    "task": {
        "pod_spec": {"containers": [PRIMARY]},
        "primary_container_name": "primary",
        "metadata": {
            "labels": {"label_1": "value-1", "label_2": "value-2"},
            "annotations": {"annotation_1": "value-1", "annotation_2": "value-2"},
        },
    },
    "templates": [
        _template(
            "flytesnacks-development",
            {"annotations": {"annotation_1": "initial-value", "bar": "initial-value"}},
        )
    ],
    "configuration": {"default_pod_template": DEFAULT},
}
EXAMPLE_3: dict[str, Any] = {
    "task": {
        "pod_spec": {"containers": [PRIMARY], "hostNetwork": True},
        "primary_container_name": "primary",
        "metadata": {
            "labels": {"label_1": "value-compile", "label_2": "value-compile"},
            "annotations": {"annotation_1": "value-compile", "annotation_2": "value-compile"},
        },
    },
    "templates": [
        _template(
            "flyte",
            {
                "labels": dict.fromkeys(("label_1", "label_2", "label_3"), "value-runtime"),
                "annotations": {"foo": "value-runtime", "bar": "value-runtime"},
            },
            hostNetwork=False,
        )
    ],
    "configuration": {
        "k8s_plugin": {
            "default_labels": {"label_1": "value-plugin"},
            "default_annotations": {"annotation_1": "value-plugin", "baz": "value-plugin"},
        },
        "default_pod_template": DEFAULT,
    },
}
EXAMPLES = (EXAMPLE_1, EXAMPLE_2, EXAMPLE_3)
