"""What a pod is rendered from. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from registry.plugins.documents.executors import Executor

_FIRST_VERSION_WITH_FILE_KEYS = (1, 35)


class InstanceType(StrEnum):
    """What runs in the pod."""

    TASK = "task"
    HOOK = "hook"


class Shape(StrEnum):
    """How the environment reaches the executor."""

    WRAPPER = "wrapper"
    FILE_KEY_REF = "file_key_ref"


class UnsupportedShape(ValueError):
    """The cluster is too old for the shape of the pod."""


@dataclass(frozen=True, slots=True)
class BootContext:
    """What the init container needs to fetch the job's files. Times can be templates of Airflow."""

    job_name: str
    project: str
    host: str
    instance_type: InstanceType
    instance_name: str
    scheduled_at: str
    dag_run_id: str = ""


@dataclass(frozen=True, slots=True)
class PodRequest:
    """A pod to render.

    default_init_image: used unless the executor has its own. env_names: variables of the job's environment,
    which the shape `file_key_ref` must name. resources: requests and limits of the executor, as Kubernetes
    has them. fail_hook: the hook runs only after a failure.
    """

    name: str
    executor: Executor
    default_init_image: str
    boot: BootContext
    shape: Shape = Shape.WRAPPER
    env_names: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    resources: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    service_account_name: str = ""
    executor_name: str = ""
    fail_hook: bool = False

    @property
    def init_image(self) -> str:
        return self.executor.init_image or self.default_init_image


def check_shape(shape: Shape, cluster_version: str) -> None:
    """Raise UnsupportedShape if a cluster with this version, such as `v1.34.2`, cannot run the shape."""
    major, minor = (int(part.rstrip("+")) for part in cluster_version.removeprefix("v").split(".")[:2])
    if shape is Shape.FILE_KEY_REF and (major, minor) < _FIRST_VERSION_WITH_FILE_KEYS:
        raise UnsupportedShape(
            f"Pods of shape {shape.value} need Kubernetes 1.35 or newer; this cluster has {major}.{minor}. "
            f"Use the shape {Shape.WRAPPER.value}."
        )
