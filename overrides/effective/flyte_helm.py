"""Effective values as the values of Flyte's Helm charts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from overrides.effective.flyte_settings import K8S, LOGS, SETTINGS, TEMPLATES, Setting, Values


class Chart(StrEnum):
    CORE = "flyte-core"
    BINARY = "flyte-binary"


@dataclass(frozen=True, slots=True)
class HelmValues:
    """content: values for the chart. left_out: types, and attributes of types, that are not in it."""

    content: dict[str, Any]
    left_out: tuple[str, ...]


# Where flyte-core keeps each section. flyte-binary has all of them in one place.
_PLACES = {
    K8S: ("configmap", "k8s", "plugins", "k8s"),
    LOGS: ("configmap", "task_logs", "plugins", "logs"),
    "propeller": ("configmap", "core", "propeller"),
    "manager": ("configmap", "core", "manager"),
    "tasks": ("configmap", "core", "tasks"),
    "workflowStore": ("configmap", "core", "workflowStore"),
    "webhook": ("configmap", "core", "webhook"),
    "storage.cache": ("storage", "cache"),
    "queues": ("configmap", "adminServer", "queues"),
    "notifications": ("workflow_notifications", "config", "notifications"),
    TEMPLATES: ("cluster_resource_manager",),
}
_INLINE = ("configuration", "inline")
# flyte-core spells some settings in its own way.
_CORE_NAMES = {"max_size_mbs": "maxSizeMBs"}
# What flyte-core passes on as it is; all else goes through `tpl`.
_PLAIN_IN_CORE = ("notifications",)

# Attributes that are for people, tools and flytekit, or that Flyte takes from elsewhere.
_NOT_OF_CHARTS = {
    "cluster_resource_templates": ("namespace", "values"),
    "default_pod_template": ("container",),
    "gpu_node_labels": ("default_device", "node_selector", "tolerations"),
    "notification_defaults": ("email", "pager_duty", "phases", "slack"),
    "secret_settings": ("default_dir", "env_prefix", "file_prefix"),
}
# One process of all components has no shards.
_NOT_OF_BINARY = {"propeller_tuning": ("shard",)}


def helm_values(types: Iterable[tuple[str, Values]], chart: Chart) -> HelmValues:
    """Return the values of the chart for the attributes of each resource type, by name."""
    content: dict[str, Any] = {}
    left_out = []
    for name, attributes in types:
        settings = SETTINGS.get(name)
        if settings is None:
            left_out.append(name)
            continue
        absent = _absent(name, chart)
        left_out += [f"{name}.{each}" for each in absent if each in attributes]
        for setting in settings({key: value for key, value in attributes.items() if key not in absent}):
            _put(content, _place(setting, chart), _spelled(setting, chart))
    if "manager" in content.get("configmap", {}).get("core", {}):
        content["flytepropeller"] = {"manager": True}
    return HelmValues(content, tuple(left_out))


def escaped(value: Any) -> Any:
    """Return the value with `{{` as the charts want it: both pass their configuration through `tpl`."""
    if isinstance(value, str):
        return value.replace("{{", '{{ "{{" }}')
    if isinstance(value, Mapping):
        return {name: escaped(item) for name, item in value.items()}
    return [escaped(item) for item in value] if isinstance(value, list) else value


def _absent(name: str, chart: Chart) -> tuple[str, ...]:
    of_binary = _NOT_OF_BINARY.get(name, ()) if chart is Chart.BINARY else ()
    return (*_NOT_OF_CHARTS.get(name, ()), *of_binary)


def _place(setting: Setting, chart: Chart) -> list[str]:
    name = setting.name.split(".")
    if chart is Chart.CORE:
        return [*_PLACES[setting.section], *(_CORE_NAMES.get(each, each) for each in name)]
    if setting.section == TEMPLATES:
        return ["clusterResourceTemplates", "inline"]
    return [*_INLINE, *setting.section.split("."), *name]


def _spelled(setting: Setting, chart: Chart) -> Any:
    """Return the value as the chart wants it. Both keep templates of cluster resources as they are."""
    if setting.section == TEMPLATES:
        if chart is Chart.BINARY:
            return {f"{name}.yaml": text for name, text in setting.value.items()}
        return [{"key": name, "value": text} for name, text in setting.value.items()]
    is_plain = chart is Chart.CORE and setting.section in _PLAIN_IN_CORE
    return setting.value if is_plain else escaped(setting.value)


def _put(content: dict[str, Any], path: list[str], value: Any) -> None:
    for name in path[:-1]:
        content = content.setdefault(name, {})
    *_, last = path
    content[last] = _joined(content.get(last), value)


def _joined(known: Any, value: Any) -> Any:
    """Return both: two types can have tolerations for the same resource."""
    if isinstance(known, dict) and isinstance(value, dict):
        return known | {name: _joined(known.get(name), item) for name, item in value.items()}
    if isinstance(known, list) and isinstance(value, list):
        return known + [item for item in value if item not in known]
    return value
