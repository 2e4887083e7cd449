"""Where pods with GPUs may run: what Flyte adds for the accelerator that a task names. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from overrides.pods.containers import DEFAULT_GPU, limited
from overrides.pods.merging import Source, sourced

# What Flyte's code has where no configuration sets a label.
_DEVICE_LABEL = "k8s.amazonaws.com/accelerator"
_PARTITION_LABEL = "k8s.amazonaws.com/gpu-partition-size"
_KIND = "gpu_node_labels"


@dataclass(frozen=True, slots=True)
class Accelerator:
    """device: such as nvidia-tesla-a100. partition_size: such as 2g.10gb. unpartitioned: a whole GPU."""

    device: str = ""
    partition_size: str = ""
    unpartitioned: bool = False


def with_accelerator(spec: Any, accelerator: Accelerator | None, labels: Mapping[str, Any]) -> Any:
    """Return the spec with requirements and tolerations for the accelerator, if the pod uses GPUs at all."""
    if accelerator is None or not limited(spec, gpu_name(labels)):
        return spec
    requirements, tolerations = [], []
    for requirement, toleration in _rules(accelerator, labels):
        requirements += [requirement] if requirement else []
        tolerations += [toleration] if toleration else []
    return _with(spec, requirements, tolerations)


def gpu_name(labels: Mapping[str, Any]) -> str:
    return str(labels.get("gpu_resource_name") or DEFAULT_GPU)


def _rules(accelerator: Accelerator, labels: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """Return pairs of a node selector requirement and a toleration."""
    rules = []
    if accelerator.device:
        label = labels.get("device_label", _DEVICE_LABEL)
        rules.append(_equal(label, accelerator.device, "/device_label"))
    if accelerator.partition_size:
        label = labels.get("partition_size_label", _PARTITION_LABEL)
        rules.append(_equal(label, accelerator.partition_size, "/partition_size_label"))
    elif accelerator.unpartitioned:
        rules.append((_unpartitioned(labels), _toleration(labels)))
    return rules


def _equal(label: str, value: str, setting: str) -> tuple[Any, Any]:
    source = Source(_KIND, setting=setting)
    requirement = {"key": label, "operator": "In", "values": [value]}
    toleration = {"key": label, "operator": "Equal", "value": value, "effect": "NoSchedule"}
    return sourced(requirement, source), sourced(toleration, source)


def _unpartitioned(labels: Mapping[str, Any]) -> Any:
    name = "unpartitioned_node_selector_requirement"
    if written := labels.get(name):
        return sourced(written, Source(_KIND, setting=f"/{name}"))
    label = labels.get("partition_size_label", _PARTITION_LABEL)
    source = Source(_KIND, setting="/partition_size_label")
    return sourced({"key": label, "operator": "DoesNotExist"}, source)


def _toleration(labels: Mapping[str, Any]) -> Any:
    name = "unpartitioned_toleration"
    return sourced(labels[name], Source(_KIND, setting=f"/{name}")) if labels.get(name) else None


def _with(spec: Any, requirements: list[Any], tolerations: list[Any]) -> Any:
    """Return the spec with both. Terms are alternatives, so each of them gets the requirements."""
    result = dict(spec)
    if tolerations:
        result["tolerations"] = [*spec.get("tolerations", []), *tolerations]
    if requirements:
        affinity = dict(spec.get("affinity", {}))
        node = dict(affinity.get("nodeAffinity", {}))
        required = dict(node.get("requiredDuringSchedulingIgnoredDuringExecution", {}))
        required["nodeSelectorTerms"] = [
            {**term, "matchExpressions": [*term.get("matchExpressions", []), *requirements]}
            for term in required.get("nodeSelectorTerms") or [{}]
        ]
        node["requiredDuringSchedulingIgnoredDuringExecution"] = required
        result["affinity"] = affinity | {"nodeAffinity": node}
    return result
