"""Containers and volumes of a pod as plain data of the Kubernetes API. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from registry.plugins.pods.commands import ENV_FILE, executor_command
from registry.plugins.pods.profiles import BOOT_GROUP, BOOT_USER, PodProfile
from registry.plugins.pods.requests import PodRequest, Shape

PULL_POLICY = "IfNotPresent"


def init_container(request: PodRequest, profile: PodProfile) -> dict[str, Any]:
    """Return the container that fetches the boot bundle. It runs without root, on a read-only image."""
    return {
        "name": profile.init_container,
        "image": request.init_image,
        "imagePullPolicy": PULL_POLICY,
        "command": list(profile.init_command),
        "env": _literals(init_env(request, profile)),
        "securityContext": {
            "runAsUser": BOOT_USER,
            "runAsGroup": BOOT_GROUP,
            "runAsNonRoot": True,
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": profile.volume, "mountPath": profile.init_mount}],
    }


def executor_container(request: PodRequest, profile: PodProfile) -> dict[str, Any]:
    """Return the container of the unmodified executor image."""
    container: dict[str, Any] = {
        "name": executor_name(request, profile),
        "image": request.executor.image,
        "imagePullPolicy": PULL_POLICY,
        "command": executor_command(request.executor.entrypoint.shell, profile.executor_mount, request.shape),
        "env": executor_env(request, profile),
        "volumeMounts": [{"name": profile.volume, "mountPath": profile.executor_mount}],
    }
    if request.resources:
        container["resources"] = {name: dict(amounts) for name, amounts in request.resources.items()}
    return container


def executor_name(request: PodRequest, profile: PodProfile) -> str:
    """Return the name of the executor's container."""
    return request.executor_name or profile.executor_container or request.name


def init_env(request: PodRequest, profile: PodProfile) -> dict[str, str]:
    """Return the variables of the init container."""
    boot = request.boot
    variables = {
        "JOB_DIR": profile.init_mount,
        "JOB_NAME": boot.job_name,
        "OPTIMUS_HOST": boot.host,
        "PROJECT": boot.project,
        "SCHEDULED_AT": boot.scheduled_at,
        "INSTANCE_TYPE": boot.instance_type.value,
        "INSTANCE_NAME": boot.instance_name,
    }
    return {**variables, "DAG_RUN_ID": boot.dag_run_id} if boot.dag_run_id else variables


def executor_env(request: PodRequest, profile: PodProfile) -> list[dict[str, Any]]:
    """Return the variables of the executor: its place in the job, and in one shape the job's environment."""
    own = executor_variables(request, profile)
    names = request.env_names if request.shape is Shape.FILE_KEY_REF else ()
    return [*_literals(own), *(_file_key(name, profile.volume) for name in names if name not in own)]


def executor_variables(request: PodRequest, profile: PodProfile) -> dict[str, str]:
    """Return the executor's place in the job."""
    labels = ",".join(f"{name}={value}" for name, value in sorted(request.labels.items()))
    return {"JOB_LABELS": labels, "JOB_DIR": profile.executor_mount, "JOB_NAME": request.boot.job_name}


def volumes(profile: PodProfile) -> list[dict[str, Any]]:
    """Return the shared volume."""
    return [{"name": profile.volume, "emptyDir": {}}]


def pod_security() -> dict[str, Any]:
    """Return the group that all containers share, so that an executor of any user can read the secrets."""
    return {"fsGroup": BOOT_GROUP}


def _literals(variables: Mapping[str, str]) -> list[dict[str, Any]]:
    # Kubernetes would expand $(NAME) in a value.
    return [{"name": name, "value": value.replace("$(", "$$(")} for name, value in variables.items()]


def _file_key(name: str, volume: str) -> dict[str, Any]:
    reference = {"volumeName": volume, "path": ENV_FILE, "key": name, "optional": False}
    return {"name": name, "valueFrom": {"fileKeyRef": reference}}
