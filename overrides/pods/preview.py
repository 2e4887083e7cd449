"""The pod that Flyte would create for a task, and where each part of it is from. Pure.

The order is that of FlytePropeller 1.16: the task's pod, the Kubernetes plugin's configuration, the
PodTemplate below both, the accelerator. Labels and annotations of the configuration rank below all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from overrides.pods.containers import (
    CONTAINERS,
    INIT_CONTAINERS,
    KINDS,
    dropped,
    merged_containers,
    named,
    requested,
    with_resources,
)
from overrides.pods.gpus import Accelerator, gpu_name, with_accelerator
from overrides.pods.merging import Source, Value, merged, sourced
from overrides.resolution.leaves import escape

_TASK = Source("task")
_FLYTE = Source("flyte")
_PLUGIN = "k8s_plugin"
_GPUS = "gpu_node_labels"


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """A PodTemplate of a cluster. metadata, spec: of the pods that are made from it."""

    namespace: str
    name: str
    metadata: Mapping[str, Any]
    spec: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """A task of Flyte. container: of a task without a pod of its own. pod_spec: of its compile-time template.

    pod_template_name: the PodTemplate that the task names instead of the default.
    """

    container: Mapping[str, Any] = field(default_factory=dict)
    pod_spec: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    primary_container_name: str = ""
    pod_template_name: str = ""
    accelerator: Accelerator | None = None


@dataclass(frozen=True, slots=True)
class Configuration:
    """Effective attributes of the resource types by which pods are configured."""

    k8s_plugin: Mapping[str, Any] = field(default_factory=dict)
    gpu_node_labels: Mapping[str, Any] = field(default_factory=dict)
    default_pod_template: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Preview:
    """metadata, spec: with sources. failure: why there is no pod. template: the PodTemplate that was used."""

    metadata: Any
    spec: Any
    template: PodTemplate | None
    notes: tuple[str, ...]
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Namespaces:
    """pod: of the pod. propeller: of FlytePropeller, where Flyte looks for PodTemplates next."""

    pod: str
    propeller: str = "flyte"


def preview(
    task: Task, templates: Sequence[PodTemplate], configuration: Configuration, namespaces: Namespaces
) -> Preview:
    """Return the pod. Its name, and the environment that Flyte adds for each execution, are not known."""
    name = task.pod_template_name or configuration.default_pod_template.get("name", "")
    template = template_named(templates, name, namespaces)
    spec, primary = _raw_pod(task)
    if failure := _failure(task, template, spec, primary):
        return Preview({}, {}, template, (), failure)
    below = sourced(template.spec, _source(template)) if template else {}
    spec = with_resources(spec, below, primary, gpu_name(configuration.gpu_node_labels))
    spec = _configured(spec, configuration)
    result = _over_template(below, spec, primary) if template else spec
    result = with_accelerator(result, task.accelerator, configuration.gpu_node_labels)
    notes = [*_notes(name, template, configuration), *_dropped(below, spec)]
    return Preview(_metadata(task, template, configuration, namespaces), result, template, tuple(notes))


def template_named(templates: Sequence[PodTemplate], name: str, namespaces: Namespaces) -> PodTemplate | None:
    """Return the PodTemplate by name: that of the pod's namespace before that of FlytePropeller's."""
    by_namespace = {each.namespace: each for each in templates if name and each.name == name}
    return by_namespace.get(namespaces.pod) or by_namespace.get(namespaces.propeller)


def _raw_pod(task: Task) -> tuple[Any, str]:
    """Return the task's own pod, and the name of its primary container."""
    if task.pod_spec is not None:
        return sourced(task.pod_spec, _TASK), task.primary_container_name
    policy = {"terminationMessagePolicy": Value("FallbackToLogsOnError", _FLYTE)}
    container = {"name": Value("task", _FLYTE)} | policy | sourced(task.container, _TASK)
    return {CONTAINERS.member: [container]}, container["name"].value


def _failure(task: Task, template: PodTemplate | None, spec: Any, primary: str) -> str:
    if task.pod_template_name and template is None:
        return (
            f"The task names the PodTemplate {task.pod_template_name!r}, which is in neither namespace."
            " Flyte would fail the task."
        )
    if primary not in named(spec.get(CONTAINERS.member, [])):
        return f"The pod has no container {primary!r}, the primary one. Flyte would fail the task."
    return ""


def _source(template: PodTemplate) -> Source:
    return Source("pod_template", f"{template.namespace}/{template.name}")


def _configured(spec: Any, configuration: Configuration) -> Any:
    """Return the spec with what the Kubernetes plugin's configuration adds."""
    plugin = configuration.k8s_plugin
    variables = list(_variables(plugin))
    result = {"restartPolicy": Value("Never", _FLYTE)} | spec
    for kind in KINDS if variables else ():
        if kind.member in spec:
            result[kind.member] = [
                {**each, "env": [*each.get("env", []), *variables]} for each in spec[kind.member]
            ]
    tolerations = [*_tolerations(spec, configuration), *spec.get("tolerations", [])]
    result |= {"tolerations": tolerations} if tolerations else {}
    if (host := plugin.get("enable_host_networking_pod")) is not None:
        result["hostNetwork"] = Value(host, Source(_PLUGIN, setting="/enable_host_networking_pod"))
    return result


def _variables(plugin: Mapping[str, Any]) -> Iterator[Any]:
    for index, each in enumerate(plugin.get("default_env_vars", [])):
        yield sourced(each, Source(_PLUGIN, setting=f"/default_env_vars/{index}"))


def _tolerations(spec: Any, configuration: Configuration) -> Iterator[Any]:
    """Yield the tolerations for the resources that the pod requests, and those of every pod."""
    kinds = {_GPUS: configuration.gpu_node_labels, _PLUGIN: configuration.k8s_plugin}
    for resource in requested(spec):
        # Both types are one setting of Flyte, in which what both have is there once.
        of_others: list[Any] = []
        for kind, attributes in kinds.items():
            own = attributes.get("resource_tolerations", {}).get(resource, [])
            for index, each in enumerate(own):
                setting = f"/resource_tolerations/{escape(resource)}/{index}"
                if each not in of_others:
                    yield _toleration(each, Source(kind, setting=setting))
            of_others += own
    for index, each in enumerate(configuration.k8s_plugin.get("default_tolerations", [])):
        yield _toleration(each, Source(_PLUGIN, setting=f"/default_tolerations/{index}"))


def _toleration(written: Mapping[str, Any], source: Source) -> Any:
    names = {"toleration_seconds": "tolerationSeconds"}
    return sourced({names.get(name, name): value for name, value in written.items()}, source)


def _over_template(template: Any, spec: Any, primary: str) -> Any:
    """Return the spec over that of the template, with the containers of the task alone."""
    result = merged(template, spec)
    for kind in KINDS:
        of_kind = merged_containers(kind, template, spec, primary if kind is CONTAINERS else "")
        result = {name: item for name, item in result.items() if name != kind.member}
        result |= {kind.member: of_kind} if of_kind else {}
    return result


def _metadata(
    task: Task, template: PodTemplate | None, configuration: Configuration, namespaces: Namespaces
) -> Any:
    """Return the metadata. Flyte's own names replace those of the template."""
    below = sourced(template.metadata, _source(template)) if template else {}
    result = merged(below, sourced(task.metadata, _TASK))
    for name in ("labels", "annotations"):
        setting = f"default_{name}"
        defaults = {
            key: Value(value, Source(_PLUGIN, setting=f"/{setting}/{escape(key)}"))
            for key, value in configuration.k8s_plugin.get(setting, {}).items()
        }
        if both := merged(defaults, result.get(name, {}), in_map=True):
            result[name] = both
    kept = {name: item for name, item in result.items() if name not in ("name", "namespace")}
    return {"namespace": Value(namespaces.pod, _FLYTE)} | kept


def _notes(name: str, template: PodTemplate | None, configuration: Configuration) -> Iterator[str]:
    if name and template is None:
        yield f"The default PodTemplate {name!r} is in neither namespace: Flyte starts without one."
    if template is None:
        return
    host = configuration.k8s_plugin.get("enable_host_networking_pod")
    if host is False and template.spec.get("hostNetwork") is True:
        yield "enable_host_networking_pod: false does not turn off hostNetwork of the PodTemplate."
    for setting in ("default_labels", "default_annotations"):
        written = template.metadata.get(setting.removeprefix("default_")) or {}
        for key in sorted(configuration.k8s_plugin.get(setting, {}).keys() & written.keys()):
            yield f"{setting}: {key} does not apply, because the PodTemplate sets it."


def _dropped(template: Any, spec: Any) -> Iterator[str]:
    for kind, what in ((CONTAINERS, "container"), (INIT_CONTAINERS, "init container")):
        for name in dropped(kind, template, spec):
            yield f"The {what} {name!r} of the PodTemplate is not in the pod: no {what} of the task is it."
