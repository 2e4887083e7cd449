"""HTTP endpoint that previews pods of Flyte's tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, caller_of
from controlplane.api.fields import Query, parse_body
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.api.effective.pod_schemas import (
    PodPreviewRead,
    PodPreviewWrite,
    show_preview,
    task_from,
    templates_from,
)
from overrides.effective.pod_configuration import TYPES, pod_configuration
from overrides.pods.preview import Namespaces, preview

_REQUEST = OpenApiExample(
    "A task with a container",
    request_only=True,
    value={
        "project": "flytesnacks",
        "domain": "development",
        "pod_templates": [
            {
                "metadata": {"name": "flyte-default", "namespace": "flyte"},
                "template": {"spec": {"containers": [{"name": "default", "imagePullPolicy": "Always"}]}},
            }
        ],
        "task": {"container": {"image": "example/task:v1"}},
    },
)
_ANSWER = OpenApiExample(
    "The pod",
    response_only=True,
    value={
        "pod": {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"namespace": "flytesnacks-development"},
            "spec": {
                "containers": [{"name": "task", "image": "example/task:v1", "imagePullPolicy": "Always"}]
            },
        },
        "text": "apiVersion: v1\nkind: Pod\n",
        "failure": "",
        "pod_template": "flyte/flyte-default",
        "sources": [
            {
                "pointer": "/spec/containers/0/imagePullPolicy",
                "source": "pod_template",
                "name": "flyte/flyte-default",
                "setting": "",
                "scope": None,
                "version": None,
            }
        ],
        "notes": [],
    },
)


class PodPreview(Endpoint):
    actions = {"POST": Action.OVERRIDE_READ}
    problems = {
        "POST": (
            errors.UnknownProject,
            errors.UnknownDomain,
            errors.InvalidScope,
            errors.InvalidAttributes,
        )
    }

    @extend_schema(
        operation_id="overrides_pod_preview",
        summary="Preview the pod of a task",
        description="Returns the pod that FlytePropeller would create, from the task, PodTemplates and the"
        " configuration in effect: `k8s_plugin`, `gpu_node_labels` and `default_pod_template`. `sources` says"
        " where each value is from. A read operation. Limits of `task_resource`, and labels and variables"
        " that Flyte adds for each execution, are not in the pod.",
        tags=["overrides"],
        request=PodPreviewWrite,
        responses=PodPreviewRead,
        examples=[_REQUEST, _ANSWER],
    )
    def post(self, request: Request) -> Response:
        Query.parse(request)
        return Response(preview_of(caller_of(request), parse_body(PodPreviewWrite, request)))


def preview_of(caller: Caller, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a request, also for the console. Raises PermissionDenied, InvalidRequest."""
    scope = Scope(project=body["project"], domain=body["domain"])
    caller.require(Action.OVERRIDE_READ, scope)
    task, templates = task_from(body["task"]), templates_from(body["pod_templates"])
    configured = pod_configuration(scope, {name: body[name] for name in TYPES if name in body})
    namespace = body["namespace"] or "-".join(filter(None, (scope.project, scope.domain))) or "default"
    namespaces = Namespaces(namespace, body["propeller_namespace"])
    return show_preview(preview(task, templates, configured.configuration, namespaces), configured)
