"""Values of Flyte's charts: the blocks that Flyte's guide prints, from attributes of our resource types."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from overrides.effective.flyte_helm import Chart, escaped, helm_values

LINKS = {
    "links": [{"name": "Loki", "template_uris": ["https://logs.example.com/?pod={{ .podName }}"]}],
    "dynamic": {"wandb": {"display_name": "W&B", "template_uris": ["https://wandb.ai/{{ .taskConfig.id }}"]}},
    "cloudwatch": {"enabled": True, "region": "us-east-2", "log_group": "/eks/flyte"},
    "kubernetes": {"enabled": False},
}
GPU = {
    "gpu_resource_name": "nvidia.com/gpu",
    "device_label": "k8s.amazonaws.com/accelerator",
    "partition_size_label": "k8s.amazonaws.com/gpu-partition-size",
    "unpartitioned_toleration": {"key": "partition", "operator": "Exists", "effect": "NoSchedule"},
    "unpartitioned_node_selector_requirement": {"key": "partition", "operator": "DoesNotExist"},
    "resource_tolerations": {"nvidia.com/gpu": [{"key": "gpu", "operator": "Exists"}]},
    "default_device": "nvidia-tesla-t4",
}
PLUGIN = {
    "default_labels": {"team": "ml"},
    "default_tolerations": [{"key": "flyte", "operator": "Exists", "toleration_seconds": 30}],
    "resource_tolerations": {"nvidia.com/gpu": [{"key": "spot", "operator": "Exists"}]},
    "co_pilot": {"name": "copilot-", "image": "example/copilot:v1", "start_timeout": "30s"},
    "default_env_vars": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
}
TUNING = {
    "workers": 40,
    "queue": {"capacity": 10000},
    "kube_client": {"qps": 100, "burst": 120, "timeout": "30s"},
    "workflow_reeval_duration": "10s",
    "max_streak_length": 8,
    "backoff_max_duration": "20s",
    "workflow_store_policy": "ResourceVersionCache",
    "admin_launcher": {"tps": 50, "cache_size": 100, "workers": 10},
    "cache_max_size_mbs": 100,
    "shard": {"type": "Hash", "shard_count": 3},
}
CORE = """
configmap:
  task_logs:
    plugins:
      logs:
        cloudwatch-enabled: true
        cloudwatch-region: us-east-2
        cloudwatch-log-group: /eks/flyte
        kubernetes-enabled: false
        templates:
        - displayName: Loki
          templateUris: ['https://logs.example.com/?pod={{ "{{" }} .podName }}']
        dynamic-log-links:
        - wandb:
            displayName: W&B
            templateUris: ['https://wandb.ai/{{ "{{" }} .taskConfig.id }}']
"""
K8S = """
gpu-resource-name: nvidia.com/gpu
gpu-device-node-label: k8s.amazonaws.com/accelerator
gpu-partition-size-node-label: k8s.amazonaws.com/gpu-partition-size
gpu-unpartitioned-toleration: {key: partition, operator: Exists, effect: NoSchedule}
gpu-unpartitioned-node-selector-requirement: {key: partition, operator: DoesNotExist}
resource-tolerations:
  nvidia.com/gpu:
  - {key: gpu, operator: Exists}
  - {key: spot, operator: Exists}
default-labels: {team: ml}
default-tolerations: [{key: flyte, operator: Exists, tolerationSeconds: 30}]
default-env-vars: [{A: '1'}, {B: '2'}]
co-pilot: {name: copilot-, image: 'example/copilot:v1', start-timeout: 30s}
default-pod-template-name: flyte-default
default-pod-template-resync: 30s
"""
PROPELLER = """
propeller:
  workers: 40
  queue: {queue: {capacity: 10000}}
  kube-client-config: {qps: 100, burst: 120, timeout: 30s}
  workflow-reeval-duration: 10s
  max-streak-length: 8
  admin-launcher: {tps: 50, cacheSize: 100, workers: 10}
tasks: {backoff: {max-duration: 20s}}
workflowStore: {policy: ResourceVersionCache}
"""


def rendered(chart: Chart, *types: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return helm_values(types, chart).content


def test_links_to_logs_are_escaped_for_tpl():
    assert rendered(Chart.CORE, ("task_log_links", LINKS)) == yaml.safe_load(CORE)


def test_three_types_share_the_block_of_the_kubernetes_plugin():
    template = {"name": "flyte-default", "resync": "30s", "container": "primary"}
    types = (("gpu_node_labels", GPU), ("k8s_plugin", PLUGIN), ("default_pod_template", template))
    block = yaml.safe_load(K8S)
    assert rendered(Chart.CORE, *types) == {"configmap": {"k8s": {"plugins": {"k8s": block}}}}
    assert rendered(Chart.BINARY, *types) == {"configuration": {"inline": {"plugins": {"k8s": block}}}}


def test_the_tuning_of_propeller():
    block = yaml.safe_load(PROPELLER)
    assert rendered(Chart.CORE, ("propeller_tuning", TUNING)) == {
        "configmap": {"core": block | {"manager": {"shard": {"type": "Hash", "shard-count": 3}}}},
        "storage": {"cache": {"maxSizeMBs": 100}},
        "flytepropeller": {"manager": True},
    }
    # One process of all components has no shards, and the chart no name of its own for the cache.
    assert rendered(Chart.BINARY, ("propeller_tuning", TUNING)) == {
        "configuration": {"inline": block | {"storage": {"cache": {"max_size_mbs": 100}}}}
    }


def test_shards_by_project():
    shard = {"type": "Project", "per_shard_mapping": [["flytesnacks"], ["*"]]}
    mapping = [{"ids": ["flytesnacks"]}, {"ids": ["*"]}]
    assert rendered(Chart.CORE, ("propeller_tuning", {"shard": shard}))["configmap"]["core"] == {
        "manager": {"shard": {"type": "Project", "per-shard-mapping": mapping}}
    }


def test_the_webhook_of_secrets():
    attributes = {
        "manager": "vault",
        "env_prefix": "_FSEC_",
        "vault": {"role": "flyte", "kv_version": "1", "annotations": {"vault.hashicorp.com/a": "b"}},
        "aws": {"image": "example/sidecar:v1", "cpu": "200m"},
    }
    block = {
        "secretManagerType": "Vault",
        "vaultSecretManager": {
            "role": "flyte",
            "kvVersion": "1",
            "annotations": {"vault.hashicorp.com/a": "b"},
        },
        "awsSecretManager": {
            "sidecarImage": "example/sidecar:v1",
            "resources": {"requests": {"cpu": "200m"}, "limits": {"cpu": "200m"}},
        },
    }
    types = ("secret_settings", attributes)
    assert rendered(Chart.CORE, types) == {"configmap": {"core": {"webhook": block}}}
    assert rendered(Chart.BINARY, types) == {"configuration": {"inline": {"webhook": block}}}
    assert helm_values([types], Chart.CORE).left_out == ("secret_settings.env_prefix",)


def test_the_text_of_notifications_is_escaped_only_where_the_chart_needs_it():
    types = ("notification_defaults", {"phases": ["FAILED"], "template": "{{ project }} failed"})
    emailer = {"emailer": {"body": "{{ project }} failed"}}
    assert rendered(Chart.CORE, types) == {"workflow_notifications": {"config": {"notifications": emailer}}}
    inline = {"notifications": {"emailer": {"body": '{{ "{{" }} project }} failed'}}}
    assert rendered(Chart.BINARY, types) == {"configuration": {"inline": inline}}
    assert helm_values([types], Chart.CORE).left_out == ("notification_defaults.phases",)


def test_queues():
    attributes = {
        "queues": [{"dynamic": "gpu_dynamic", "attributes": ["gpu"]}],
        "workflow_configs": [{"domain": "production", "workflow_name": "train", "tags": ["gpu"]}],
    }
    block = {
        "executionQueues": [{"dynamic": "gpu_dynamic", "attributes": ["gpu"]}],
        "workflowConfigs": [{"domain": "production", "workflowName": "train", "tags": ["gpu"]}],
    }
    types = ("execution_queues", attributes)
    assert rendered(Chart.CORE, types) == {"configmap": {"adminServer": {"queues": block}}}
    assert rendered(Chart.BINARY, types) == {"configuration": {"inline": {"queues": block}}}


def test_templates_of_cluster_resources_are_not_escaped():
    text = "kind: Namespace\nmetadata: {name: {{ namespace }}}\n"
    types = ("cluster_resource_templates", {"templates": [{"name": "aa", "text": text}], "namespace": "x"})
    assert rendered(Chart.CORE, types) == {
        "cluster_resource_manager": {"templates": [{"key": "aa", "value": text}]}
    }
    assert rendered(Chart.BINARY, types) == {"clusterResourceTemplates": {"inline": {"aa.yaml": text}}}
    assert helm_values([types], Chart.CORE).left_out == ("cluster_resource_templates.namespace",)


def test_what_is_no_part_of_a_chart_is_named():
    types = [("task_resource", {"defaults": {}}), ("gpu_node_labels", GPU), ("propeller_tuning", TUNING)]
    left_out = ("task_resource", "gpu_node_labels.default_device")
    assert helm_values(types, Chart.CORE).left_out == left_out
    assert helm_values(types, Chart.BINARY).left_out == (*left_out, "propeller_tuning.shard")


def test_nothing_set_is_nothing_rendered():
    assert rendered(Chart.CORE, ("k8s_plugin", {}), ("task_log_links", {})) == {}


@pytest.mark.parametrize(
    ("value", "expected"), [("a {b}", "a {b}"), (["{{ .x }}"], ['{{ "{{" }} .x }}']), (3, 3)]
)
def test_escapes(value, expected):
    assert escaped(value) == expected
