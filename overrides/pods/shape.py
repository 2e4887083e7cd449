"""What parts of pods must look like, as far as a preview looks at them. Pure.

Kubernetes checks the rest when a pod is created.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controlplane.errors import FieldError
from overrides.resource_types.validator import DocumentValidator

# A PodTemplate's `default` container is in each container of the task, so their number bounds the answer.
MAX_CONTAINERS = 50
_TEXT = {"type": "string"}
_TEXTS = {"type": ["object", "null"], "additionalProperties": _TEXT}
_OBJECT = {"type": ["object", "null"]}


def _list_of(items: Mapping[str, Any], **keywords: Any) -> dict[str, Any]:
    return {"type": ["array", "null"], "items": items, **keywords}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": ["object", "null"], "properties": properties}


_CONTAINER = {
    **_object(
        name=_TEXT,
        env=_list_of({"type": "object"}),
        resources=_object(limits=_OBJECT, requests=_OBJECT),
    ),
    "type": "object",
}
_CONTAINERS = _list_of({**_CONTAINER, "required": ["name"]}, maxItems=MAX_CONTAINERS)
_TERMS = _list_of({"type": "object", "properties": {"matchExpressions": _list_of({"type": "object"})}})
_SPEC = _object(
    containers=_CONTAINERS,
    initContainers=_CONTAINERS,
    tolerations=_list_of({"type": "object"}),
    affinity=_object(
        nodeAffinity=_object(requiredDuringSchedulingIgnoredDuringExecution=_object(nodeSelectorTerms=_TERMS))
    ),
)
_METADATA = _object(labels=_TEXTS, annotations=_TEXTS)
_TOLERATIONS = {"type": "array", "items": {"type": "object"}}
_BY_RESOURCE = {"type": "object", "additionalProperties": _TOLERATIONS}

SHAPES: dict[str, DocumentValidator] = {
    "pod_templates": DocumentValidator(
        {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["metadata", "template"],
                "properties": {
                    "metadata": {
                        "type": "object",
                        "required": ["name", "namespace"],
                        "properties": {"name": _TEXT, "namespace": _TEXT},
                    },
                    "template": {
                        "type": "object",
                        "required": ["spec"],
                        "properties": {"metadata": _METADATA, "spec": {**_SPEC, "type": "object"}},
                    },
                },
            },
        }
    ),
    "container": DocumentValidator(_CONTAINER),
    "pod_spec": DocumentValidator({**_SPEC, "type": "object"}),
    "k8s_plugin": DocumentValidator(
        _object(
            default_labels=_TEXTS,
            default_annotations=_TEXTS,
            default_tolerations=_TOLERATIONS,
            resource_tolerations=_BY_RESOURCE,
            enable_host_networking_pod={"type": "boolean"},
            default_env_vars={"type": "array", "items": {"type": "object"}},
        )
    ),
    "gpu_node_labels": DocumentValidator(
        _object(
            gpu_resource_name=_TEXT,
            device_label=_TEXT,
            partition_size_label=_TEXT,
            resource_tolerations=_BY_RESOURCE,
            unpartitioned_toleration={"type": "object"},
            unpartitioned_node_selector_requirement={"type": "object"},
        )
    ),
    "default_pod_template": DocumentValidator(_object(name=_TEXT)),
}


def shape_errors(shape: str, document: Any, pointer: str) -> list[FieldError]:
    """Return all errors of a document that a preview could not read."""
    return SHAPES[shape].errors(document, pointer)
