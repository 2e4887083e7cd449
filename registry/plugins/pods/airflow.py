"""Arguments of Airflow's KubernetesPodOperator as plain data. Pure."""

from __future__ import annotations

from typing import Any

from registry.plugins.pods import containers
from registry.plugins.pods.profiles import PodProfile
from registry.plugins.pods.requests import InstanceType, PodRequest


def operator_arguments(request: PodRequest, profile: PodProfile) -> dict[str, Any]:
    """Return the operator's keyword arguments. Objects of the Kubernetes API are plain objects.

    Airflow does not render templates in `init_containers` itself: the DAG's operator has to.
    """
    arguments = {**_pod_arguments(request, profile), **_run_arguments(request)}
    return {name: value for name, value in arguments.items() if value is not None}


def _pod_arguments(request: PodRequest, profile: PodProfile) -> dict[str, Any]:
    executor = containers.executor_container(request, profile)
    return {
        "name": request.name,
        "base_container_name": executor["name"],
        "image": executor["image"],
        "image_pull_policy": containers.PULL_POLICY,
        "cmds": executor["command"],
        "arguments": [],
        "env_vars": executor["env"],
        "labels": dict(request.labels),
        "init_containers": [containers.init_container(request, profile)],
        "volumes": containers.volumes(profile),
        "volume_mounts": executor["volumeMounts"],
        "security_context": containers.pod_security(),
        "container_resources": executor.get("resources"),
        "service_account_name": request.service_account_name or None,
    }


def _run_arguments(request: PodRequest) -> dict[str, Any]:
    return {
        "task_id": _task_id(request),
        "reattach_on_restart": True,
        # The name of is_delete_operator_pod=True in providers that no longer accept it.
        "on_finish_action": "delete_pod",
        "do_xcom_push": False,
        "trigger_rule": "one_failed" if request.fail_hook else "all_success",
    }


def _task_id(request: PodRequest) -> str:
    name = request.boot.instance_name
    return f"hook_{name}" if request.boot.instance_type is InstanceType.HOOK else name
