"""Render a pod as plain data and as YAML. Pure."""

from __future__ import annotations

from typing import Any

from controlplane.formats import strict_yaml
from registry.plugins.pods import containers
from registry.plugins.pods.profiles import PodProfile
from registry.plugins.pods.requests import PodRequest, Shape

_COMMENTS = {
    Shape.WRAPPER: """\
# The command loads the environment and the secrets. A postStart hook could not: it is a process of its own,
# and Kubernetes starts it in no order with the container's command.
""",
    Shape.FILE_KEY_REF: """\
# The kubelet reads the environment from the volume (Kubernetes 1.35 or newer). fileKeyRef is not meant for
# secrets, so the command loads them. A postStart hook could not: it is a process of its own.
""",
}


def render_pod(request: PodRequest, profile: PodProfile) -> dict[str, Any]:
    """Return the pod as an object of the Kubernetes API."""
    metadata: dict[str, Any] = {"name": request.name}
    if request.labels:
        metadata["labels"] = dict(request.labels)
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "securityContext": containers.pod_security(),
        "initContainers": [containers.init_container(request, profile)],
        "containers": [containers.executor_container(request, profile)],
        "volumes": containers.volumes(profile),
    }
    if request.service_account_name:
        spec["serviceAccountName"] = request.service_account_name
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def render_yaml(request: PodRequest, profile: PodProfile) -> str:
    """Return the pod as YAML with a comment on its boot sequence."""
    return _COMMENTS[request.shape] + strict_yaml.dump(render_pod(request, profile))
