"""Flyte's messages for tests: one full example of each type, and a client that speaks all three formats."""

from __future__ import annotations

import json
from typing import Any

from django.test import Client
from flyteidl.admin import cluster_assignment_pb2, common_pb2
from flyteidl.admin import matchable_resource_pb2 as flyte
from flyteidl.core import execution_envs_pb2, execution_pb2, security_pb2
from google.protobuf import json_format
from google.protobuf.message import Message

PROTOBUF = "application/octet-stream"
SNAKE = "application/json"
CAMEL = "*/*"


def _execution_config() -> flyte.WorkflowExecutionConfig:
    secret = security_pb2.Secret(group="g", key="k", mount_requirement="FILE", env_var="TOKEN")
    client = security_pb2.OAuth2Client(client_id="c", client_secret=secret)
    token = security_pb2.OAuth2TokenRequest(name="t", client=client, token_endpoint="https://x.example/t")
    config = flyte.WorkflowExecutionConfig(
        max_parallelism=7,
        security_context=security_pb2.SecurityContext(
            run_as=security_pb2.Identity(iam_role="role", k8s_service_account="sa", oauth2_client=client),
            secrets=[secret],
            tokens=[token],
        ),
        raw_output_data_config=common_pb2.RawOutputDataConfig(output_location_prefix="s3://bucket"),
        labels=common_pb2.Labels(values={"team": "ml", "a/b": ""}),
        annotations=common_pb2.Annotations(values={"note": "anything goes"}),
        overwrite_cache=True,
        envs=common_pb2.Envs(values=[{"key": "A", "value": "1"}, {"key": "B"}]),
    )
    config.interruptible.value = False
    assignment = config.execution_env_assignments.add(node_ids=["n0"], task_type="python")
    env = execution_envs_pb2.ExecutionEnv(name="e", type="fast", version="1")
    env.spec.update({"image": "x", "nothing": None, "list": [1, "two", {"three": 3.5}]})
    assignment.execution_env.CopyFrom(env)
    return config


EXAMPLES: dict[str, Message] = {
    "TASK_RESOURCE": flyte.MatchingAttributes(
        task_resource_attributes=flyte.TaskResourceAttributes(
            defaults=flyte.TaskResourceSpec(cpu="1", memory="150Mi", ephemeral_storage="1Gi"),
            limits=flyte.TaskResourceSpec(cpu="2", memory="450Mi", gpu="1", storage="10Gi"),
        )
    ),
    "CLUSTER_RESOURCE": flyte.MatchingAttributes(
        cluster_resource_attributes=flyte.ClusterResourceAttributes(
            attributes={"projectQuotaCpu": "1000", "key": "k", "value": "v"}
        )
    ),
    "EXECUTION_QUEUE": flyte.MatchingAttributes(
        execution_queue_attributes=flyte.ExecutionQueueAttributes(tags=["critical", "gpu"])
    ),
    "EXECUTION_CLUSTER_LABEL": flyte.MatchingAttributes(
        execution_cluster_label=flyte.ExecutionClusterLabel(value="gpu-cluster")
    ),
    "QUALITY_OF_SERVICE_SPECIFICATION": flyte.MatchingAttributes(
        quality_of_service=execution_pb2.QualityOfService(
            spec=execution_pb2.QualityOfServiceSpec(queueing_budget={"seconds": 90, "nanos": 500_000_000})
        )
    ),
    "PLUGIN_OVERRIDE": flyte.MatchingAttributes(
        plugin_overrides=flyte.PluginOverrides(
            overrides=[
                {"task_type": "python", "plugin_id": ["a", "b"], "missing_plugin_behavior": "USE_DEFAULT"},
                {"task_type": "spark", "plugin_id": ["c"]},
            ]
        )
    ),
    "WORKFLOW_EXECUTION_CONFIG": flyte.MatchingAttributes(workflow_execution_config=_execution_config()),
    "CLUSTER_ASSIGNMENT": flyte.MatchingAttributes(
        cluster_assignment=cluster_assignment_pb2.ClusterAssignment(cluster_pool_name="pool")
    ),
}
PATHS = {
    "project": "project_attributes/flytesnacks",
    "project_domain": "project_domain_attributes/flytesnacks/development",
    "workflow": "workflow_attributes/flytesnacks/development/core.basic.hello_world.my_wf",
}


class FlyteHttp:
    """Requests as Flyte's HTTP clients send them: nothing is added that was not asked for."""

    def __init__(self, token: str = "") -> None:
        self._client = Client(raise_request_exception=False)
        self._token = token

    def __call__(
        self, method: str, path: str, body: Any = b"", *, sends: str = "", accepts: str = "", **headers: str
    ) -> Any:
        all_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if accepts:
            all_headers["Accept"] = accepts
        if self._token:
            all_headers["Authorization"] = f"Bearer {self._token}"
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        # By hand: the test client sends no Content-Type without a body, and real clients do.
        extra: Any = {"CONTENT_TYPE": sends} if sends else {}
        path = f"/api/v1/{path}"
        return self._client.generic(method, path, content, content_type=sends, headers=all_headers, **extra)

    def put(self, path: str, body: Any, **more: str) -> Any:
        return self("PUT", path, body, **more)

    def get(self, path: str, **more: str) -> Any:
        return self("GET", path, **more)

    def delete(self, path: str, body: Any = b"", **more: str) -> Any:
        return self("DELETE", path, body, **more)


def write(message: Message, sends: str) -> bytes:
    """The message in a format, by protobuf's own writers."""
    if sends == PROTOBUF:
        return message.SerializeToString()
    return json_format.MessageToJson(message, preserving_proto_field_name=sends == SNAKE).encode()


def read(message: Message, answer: Any, accepts: str) -> Any:
    """An answer in a format, by protobuf's own parsers."""
    if accepts == PROTOBUF:
        message.ParseFromString(answer.content)
    else:
        json_format.Parse(answer.content, message)
    return message
