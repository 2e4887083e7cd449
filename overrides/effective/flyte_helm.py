"""Effective values as the values of Flyte's Helm charts. Pure.

Names of settings are those of Flyte 1.16's configuration sections `propeller`, `tasks`, `plugins.k8s`,
`plugins.logs` and `workflowStore`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Values = Mapping[str, Any]
_K8S = "plugins.k8s"
_LOGS = "plugins.logs"


class Chart(StrEnum):
    CORE = "flyte-core"
    BINARY = "flyte-binary"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of Flyte. section: such as plugins.k8s. name: within the section, with dots."""

    section: str
    name: str
    value: Any


@dataclass(frozen=True, slots=True)
class HelmValues:
    """content: values for the chart. left_out: types, and attributes of types, that are not in it."""

    content: dict[str, Any]
    left_out: tuple[str, ...]


# Where flyte-core keeps each section. flyte-binary has all of them in one place.
_PLACES = {
    _K8S: ("configmap", "k8s", "plugins", "k8s"),
    _LOGS: ("configmap", "task_logs", "plugins", "logs"),
    "propeller": ("configmap", "core", "propeller"),
    "tasks": ("configmap", "core", "tasks"),
    "workflowStore": ("configmap", "core", "workflowStore"),
}
_INLINE = ("configuration", "inline")

# Attributes that are for people and tools, or whose place differs between versions of the charts.
_NOT_OF_CHARTS = {
    "default_pod_template": ("container",),
    "gpu_node_labels": ("default_device", "node_selector", "tolerations"),
    "propeller_tuning": ("cache_max_size_mbs", "shard"),
}


def helm_values(types: Iterable[tuple[str, Values]], chart: Chart) -> HelmValues:
    """Return the values of the chart for the attributes of each resource type, by name."""
    content: dict[str, Any] = {}
    left_out = []
    for name, attributes in types:
        settings = _SETTINGS.get(name)
        if settings is None:
            left_out.append(name)
            continue
        left_out += [f"{name}.{each}" for each in _NOT_OF_CHARTS.get(name, ()) if each in attributes]
        for setting in settings(attributes):
            _put(content, [*_place(setting.section, chart), *setting.name.split(".")], setting.value)
    return HelmValues(content, tuple(left_out))


def escaped(value: Any) -> Any:
    """Return the value with `{{` as the charts want it: both pass their configuration through `tpl`."""
    if isinstance(value, str):
        return value.replace("{{", '{{ "{{" }}')
    if isinstance(value, Mapping):
        return {name: escaped(item) for name, item in value.items()}
    return [escaped(item) for item in value] if isinstance(value, list) else value


def _place(section: str, chart: Chart) -> tuple[str, ...]:
    return _PLACES[section] if chart is Chart.CORE else (*_INLINE, *section.split("."))


def _put(content: dict[str, Any], path: list[str], value: Any) -> None:
    for name in path[:-1]:
        content = content.setdefault(name, {})
    *_, last = path
    content[last] = _joined(content.get(last), escaped(value))


def _joined(known: Any, value: Any) -> Any:
    """Return both: two types can have tolerations for the same resource."""
    if isinstance(known, dict) and isinstance(value, dict):
        return known | {name: _joined(known.get(name), item) for name, item in value.items()}
    if isinstance(known, list) and isinstance(value, list):
        return known + [item for item in value if item not in known]
    return value


def _named(section: str, attributes: Values, names: Mapping[str, str]) -> list[Setting]:
    """Return the settings for the attributes that are set. names: attribute, as a path, to setting."""
    found = [(_at(attributes, path), name) for path, name in names.items()]
    return [Setting(section, name, value) for value, name in found if value is not None]


def _at(attributes: Values, path: str) -> Any:
    value: Any = attributes
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _toleration(written: Values) -> dict[str, Any]:
    names = {"toleration_seconds": "tolerationSeconds"}
    return {names.get(name, name): value for name, value in written.items()}


def _tolerations_by_resource(attributes: Values) -> list[Setting]:
    by_resource = attributes.get("resource_tolerations")
    if not by_resource:
        return []
    value = {resource: [_toleration(each) for each in items] for resource, items in by_resource.items()}
    return [Setting(_K8S, "resource-tolerations", value)]


def _k8s_plugin(attributes: Values) -> list[Setting]:
    names = {
        "default_labels": "default-labels",
        "default_annotations": "default-annotations",
        "enable_host_networking_pod": "enable-host-networking-pod",
        "co_pilot.name": "co-pilot.name",
        "co_pilot.image": "co-pilot.image",
        "co_pilot.start_timeout": "co-pilot.start-timeout",
    }
    settings = _named(_K8S, attributes, names)
    if tolerations := attributes.get("default_tolerations"):
        settings.append(Setting(_K8S, "default-tolerations", [_toleration(each) for each in tolerations]))
    if variables := attributes.get("default_env_vars"):
        written = [{each["name"]: each["value"]} for each in variables]
        settings.append(Setting(_K8S, "default-env-vars", written))
    return [*settings, *_tolerations_by_resource(attributes)]


def _gpu_node_labels(attributes: Values) -> list[Setting]:
    names = {
        "gpu_resource_name": "gpu-resource-name",
        "device_label": "gpu-device-node-label",
        "partition_size_label": "gpu-partition-size-node-label",
        "unpartitioned_toleration": "gpu-unpartitioned-toleration",
        "unpartitioned_node_selector_requirement": "gpu-unpartitioned-node-selector-requirement",
    }
    return [*_named(_K8S, attributes, names), *_tolerations_by_resource(attributes)]


def _default_pod_template(attributes: Values) -> list[Setting]:
    names = {"name": "default-pod-template-name", "resync": "default-pod-template-resync"}
    return _named(_K8S, attributes, names)


def _task_log_links(attributes: Values) -> list[Setting]:
    names = {
        "cloudwatch.enabled": "cloudwatch-enabled",
        "cloudwatch.region": "cloudwatch-region",
        "cloudwatch.log_group": "cloudwatch-log-group",
        "cloudwatch.template_uri": "cloudwatch-template-uri",
        "stackdriver.enabled": "stackdriver-enabled",
        "stackdriver.gcp_project": "gcp-project",
        "stackdriver.logresourcename": "stackdriver-logresourcename",
        "stackdriver.template_uri": "stackdriver-template-uri",
        "kubernetes.enabled": "kubernetes-enabled",
        "kubernetes.url": "kubernetes-url",
        "kubernetes.template_uri": "kubernetes-template-uri",
    }
    settings = _named(_LOGS, attributes, names)
    if links := attributes.get("links"):
        settings.append(Setting(_LOGS, "templates", [_link(each) for each in links]))
    if dynamic := attributes.get("dynamic"):
        written = [{name: _link(each)} for name, each in sorted(dynamic.items())]
        settings.append(Setting(_LOGS, "dynamic-log-links", written))
    return settings


def _link(written: Values) -> dict[str, Any]:
    names = {
        "name": "displayName",
        "display_name": "displayName",
        "template_uris": "templateUris",
        "message_format": "messageFormat",
        "hide_once_finished": "hideOnceFinished",
        "show_while_pending": "showWhilePending",
    }
    return {names[name]: value for name, value in written.items()}


def _propeller_tuning(attributes: Values) -> list[Setting]:
    names = {
        "workers": "workers",
        # The queue of the queues: `queue` itself names how both of them work together.
        "queue.capacity": "queue.queue.capacity",
        "kube_client.qps": "kube-client-config.qps",
        "kube_client.burst": "kube-client-config.burst",
        "kube_client.timeout": "kube-client-config.timeout",
        "workflow_reeval_duration": "workflow-reeval-duration",
        "downstream_eval_duration": "downstream-eval-duration",
        "max_streak_length": "max-streak-length",
        "admin_launcher.tps": "admin-launcher.tps",
        "admin_launcher.cache_size": "admin-launcher.cacheSize",
        "admin_launcher.workers": "admin-launcher.workers",
    }
    return [
        *_named("propeller", attributes, names),
        *_named("tasks", attributes, {"backoff_max_duration": "backoff.max-duration"}),
        *_named("workflowStore", attributes, {"workflow_store_policy": "policy"}),
    ]


_SETTINGS: Mapping[str, Callable[[Values], list[Setting]]] = {
    "default_pod_template": _default_pod_template,
    "gpu_node_labels": _gpu_node_labels,
    "k8s_plugin": _k8s_plugin,
    "propeller_tuning": _propeller_tuning,
    "task_log_links": _task_log_links,
}
