"""Settings of Flyte for the attributes of resource types. Pure.

Names of settings are those of Flyte 1.16's configuration sections `propeller`, `tasks`, `plugins.k8s`,
`plugins.logs`, `workflowStore`, `storage`, `manager`, `webhook`, `queues`, `notifications` and
`cluster_resources`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Values = Mapping[str, Any]
K8S = "plugins.k8s"
LOGS = "plugins.logs"
# Of the charts themselves, not of Flyte: templates of cluster resources by name.
TEMPLATES = "cluster-resource-templates"
_FORMATS = {"unknown": 0, "csv": 1, "json": 2}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of Flyte. section: such as plugins.k8s. name: within the section, with dots."""

    section: str
    name: str
    value: Any


def _named(section: str, attributes: Values, names: Mapping[str, str]) -> list[Setting]:
    """Return the settings for the attributes that are set. names: attribute, as a path, to setting."""
    values = [(_at(attributes, path), name) for path, name in names.items()]
    return [Setting(section, name, value) for value, name in values if value is not None]


def _at(attributes: Values, path: str) -> Any:
    value: Any = attributes
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _renamed(written: Values, names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in written.items()}


def _toleration(written: Values) -> dict[str, Any]:
    return _renamed(written, {"toleration_seconds": "tolerationSeconds"})


def _tolerations_by_resource(attributes: Values) -> list[Setting]:
    by_resource = attributes.get("resource_tolerations")
    if not by_resource:
        return []
    value = {resource: [_toleration(each) for each in items] for resource, items in by_resource.items()}
    return [Setting(K8S, "resource-tolerations", value)]


def _k8s_plugin(attributes: Values) -> list[Setting]:
    names = {
        "default_labels": "default-labels",
        "default_annotations": "default-annotations",
        "enable_host_networking_pod": "enable-host-networking-pod",
        "co_pilot.name": "co-pilot.name",
        "co_pilot.image": "co-pilot.image",
        "co_pilot.start_timeout": "co-pilot.start-timeout",
    }
    settings = _named(K8S, attributes, names)
    if tolerations := attributes.get("default_tolerations"):
        settings.append(Setting(K8S, "default-tolerations", [_toleration(each) for each in tolerations]))
    if variables := attributes.get("default_env_vars"):
        written = [{each["name"]: each["value"]} for each in variables]
        settings.append(Setting(K8S, "default-env-vars", written))
    return [*settings, *_tolerations_by_resource(attributes)]


def _gpu_node_labels(attributes: Values) -> list[Setting]:
    names = {
        "gpu_resource_name": "gpu-resource-name",
        "device_label": "gpu-device-node-label",
        "partition_size_label": "gpu-partition-size-node-label",
        "unpartitioned_toleration": "gpu-unpartitioned-toleration",
        "unpartitioned_node_selector_requirement": "gpu-unpartitioned-node-selector-requirement",
    }
    return [*_named(K8S, attributes, names), *_tolerations_by_resource(attributes)]


def _default_pod_template(attributes: Values) -> list[Setting]:
    names = {"name": "default-pod-template-name", "resync": "default-pod-template-resync"}
    return _named(K8S, attributes, names)


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
    settings = _named(LOGS, attributes, names)
    if links := attributes.get("links"):
        settings.append(Setting(LOGS, "templates", [_link(each) for each in links]))
    if dynamic := attributes.get("dynamic"):
        written = [{name: _link(each)} for name, each in sorted(dynamic.items())]
        settings.append(Setting(LOGS, "dynamic-log-links", written))
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
    link = _renamed(written, names)
    if "messageFormat" in link:
        # Flyte reads the number of its enum, not the name.
        link["messageFormat"] = _FORMATS.get(link["messageFormat"], link["messageFormat"])
    return link


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
        *_named("storage.cache", attributes, {"cache_max_size_mbs": "max_size_mbs"}),
        *_shard(attributes.get("shard") or {}),
    ]


def _shard(shard: Values) -> list[Setting]:
    settings = _named("manager", shard, {"type": "shard.type", "shard_count": "shard.shard-count"})
    if mapping := shard.get("per_shard_mapping"):
        settings.append(Setting("manager", "shard.per-shard-mapping", [{"ids": ids} for ids in mapping]))
    return settings


def _secret_settings(attributes: Values) -> list[Setting]:
    names = {
        "vault.role": "vaultSecretManager.role",
        "vault.kv_version": "vaultSecretManager.kvVersion",
        "vault.annotations": "vaultSecretManager.annotations",
    }
    settings = _named("webhook", attributes, names)
    if manager := attributes.get("manager"):
        spelled = {"k8s": "K8s", "aws": "AWS", "gcp": "GCP", "vault": "Vault"}
        settings.insert(0, Setting("webhook", "secretManagerType", spelled.get(manager, manager)))
    for name in ("aws", "gcp"):
        settings += _sidecar(f"{name}SecretManager", attributes.get(name) or {})
    return settings


def _sidecar(manager: str, sidecar: Values) -> list[Setting]:
    settings = _named("webhook", sidecar, {"image": f"{manager}.sidecarImage"})
    if amounts := {name: sidecar[name] for name in ("cpu", "memory") if name in sidecar}:
        resources = {"requests": amounts, "limits": amounts}
        settings.append(Setting("webhook", f"{manager}.resources", resources))
    return settings


def _notification_defaults(attributes: Values) -> list[Setting]:
    return _named("notifications", attributes, {"template": "emailer.body"})


def _execution_queues(attributes: Values) -> list[Setting]:
    settings = _named("queues", attributes, {"queues": "executionQueues"})
    if configs := attributes.get("workflow_configs"):
        written = [_renamed(each, {"workflow_name": "workflowName"}) for each in configs]
        settings.append(Setting("queues", "workflowConfigs", written))
    return settings


def _cluster_resource_templates(attributes: Values) -> list[Setting]:
    templates = {each["name"]: each["text"] for each in attributes.get("templates", ())}
    return [Setting(TEMPLATES, "templates", templates)] if templates else []


SETTINGS: Mapping[str, Callable[[Values], list[Setting]]] = {
    "cluster_resource_templates": _cluster_resource_templates,
    "default_pod_template": _default_pod_template,
    "execution_queues": _execution_queues,
    "gpu_node_labels": _gpu_node_labels,
    "k8s_plugin": _k8s_plugin,
    "notification_defaults": _notification_defaults,
    "propeller_tuning": _propeller_tuning,
    "secret_settings": _secret_settings,
    "task_log_links": _task_log_links,
}
