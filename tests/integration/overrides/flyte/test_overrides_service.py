"""OverridesService (RFC 3749) over gRPC: documents of scopes, the whole ConfigMap, errors, reflection."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import grpc
import pytest
import yaml
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from controlplane.scopes import Scope
from overrides.flyte import proto_file
from overrides.flyte.overrides_service import wire
from overrides.resource_types import BUILT_IN
from tests.conftest import ROOT
from tests.support.api_client import Api, make_project, token_for

SERVICE = "controlplane.overrides.v1.OverridesService"
PROTO = ROOT / "overrides/flyte/overrides_service/overrides.proto"
PD = {"project": "flytesnacks", "domain": "development"}


@pytest.fixture
def channel(live) -> Iterator[grpc.Channel]:
    make_project()
    with grpc.insecure_channel(f"127.0.0.1:{live.grpc_port}") as channel:
        grpc.channel_ready_future(channel).result(timeout=30)
        yield channel


def call(channel: grpc.Channel, rpc: str, token: str, **ids: str) -> Any:
    request = wire.message_class(f"{rpc}Request")(**ids)
    answer = wire.message_class(f"{rpc}Response").FromString
    method = channel.unary_unary(f"/{SERVICE}/{rpc}", _bytes, answer)
    return method(request, metadata=(("authorization", f"Bearer {token}"),), timeout=20)


def _bytes(message: Any) -> bytes:
    return message.SerializeToString()


def refusal(channel: grpc.Channel, rpc: str, token: str, **ids: str) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as refused:
        call(channel, rpc, token, **ids)
    return refused.value.code(), refused.value.details()


def put(resource_type: str, attributes: dict[str, Any], **scope: str) -> None:
    api = Api(token_for("admin"))
    path = f"overrides/{resource_type}?{urlencode(scope)}"
    etag = api.get(path).headers.get("ETag")
    answer = api.put(path, {"attributes": attributes}, **({"If_Match": etag} if etag else {}))
    assert answer.status_code in (200, 201), answer.content


def test_a_document_has_what_an_execution_gets_with_what_it_inherits_marked(channel):
    token = token_for("admin")
    put("task_resource", {"defaults": {"cpu": "1"}}, **PD, workflow="a.b")
    put("task_resource", {"limits": {"cpu": "8"}}, **PD)
    put("execution_cluster_label", {"value": "gpu"}, project="flytesnacks")

    document = call(channel, "GetOverrides", token, **PD, workflow="a.b").document

    assert (document.project, document.workflow, document.api_version) == ("flytesnacks", "a.b", 1)
    entries = {entry.attributes.WhichOneof("target"): entry for entry in document.overrides}
    of_workflow = entries["task_resource_attributes"]
    # As FlyteAdmin: the most specific row whole. The limits of the project and domain do not apply.
    assert of_workflow.attributes.task_resource_attributes.defaults.cpu == "1"
    assert not of_workflow.attributes.task_resource_attributes.HasField("limits")
    assert (of_workflow.inherited, of_workflow.source) == (False, "")
    inherited = entries["execution_cluster_label"]
    assert inherited.attributes.execution_cluster_label.value == "gpu"
    assert (inherited.inherited, inherited.project, inherited.domain, inherited.source) == (
        *(True, "flytesnacks"),
        *("", "project"),
    )


def test_the_version_rises_with_every_change_of_the_document(channel):
    token = token_for("admin")
    versions = []
    for cpu in ("1", "2"):
        put("task_resource", {"defaults": {"cpu": cpu}}, **PD)
        versions.append(call(channel, "GetOverrides", token, **PD).document.status.version)

    assert versions[0] < versions[1]


def test_the_config_map_can_be_applied_again_and_changes_nothing(channel):
    put("task_resource", {"defaults": {"cpu": "1"}}, **PD)

    text = call(channel, "GetAllOverrides", token_for("admin")).config_map

    assert text == Api(token_for("admin")).get("overrides/export").content.decode()
    config_map = yaml.safe_load(text)
    (entry,) = yaml.safe_load(config_map["data"]["defaults.yaml"])
    assert entry == {**PD, "overrides": {"taskResources": {"defaults": {"cpu": "1"}}}}


def test_who_may_not_read_is_refused(channel):
    elsewhere = token_for("viewer", scope=Scope(project="other"))

    assert refusal(channel, "GetOverrides", "cp_pat_x", **PD)[0] is grpc.StatusCode.UNAUTHENTICATED
    assert refusal(channel, "GetOverrides", elsewhere, **PD)[0] is grpc.StatusCode.PERMISSION_DENIED
    of_project = token_for("viewer", scope=Scope(project="flytesnacks"))
    assert refusal(channel, "GetAllOverrides", of_project)[0] is grpc.StatusCode.PERMISSION_DENIED
    assert call(channel, "GetOverrides", of_project, **PD).document.project == "flytesnacks"


def test_wrong_scopes_have_the_codes_of_grpc(channel):
    token = token_for("admin")

    assert refusal(channel, "GetOverrides", token, project="nowhere")[0] is grpc.StatusCode.NOT_FOUND
    assert refusal(channel, "GetOverrides", token, workflow="a")[0] is grpc.StatusCode.INVALID_ARGUMENT


def test_health_and_reflection_know_the_service(channel):
    health = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=SERVICE))
    assert health.status == health_pb2.HealthCheckResponse.SERVING
    request = reflection_pb2.ServerReflectionRequest(file_containing_symbol=SERVICE)
    stub = reflection_pb2_grpc.ServerReflectionStub(channel)
    (answer,) = stub.ServerReflectionInfo(iter([request]))
    assert wire.PACKAGE.encode() in answer.file_descriptor_response.file_descriptor_proto[0]


def test_the_proto_file_is_read_completely_and_has_the_numbers_of_the_rfc():
    lines = [line for line in PROTO.read_text().splitlines() if line.strip() and "//" not in line]
    known = (
        proto_file._FIELD,
        proto_file._RPC,
        re.compile(r"message \w+ \{|service \w+ \{|\}|(syntax|package|import) .*"),
    )
    assert not [line for line in lines if not any(pattern.fullmatch(line) for pattern in known)]
    document = wire.message_class("OverridesDocument").DESCRIPTOR
    assert [(field.number, field.name) for field in document.fields] == [
        *((1, "domain"), (2, "project"), (3, "workflow")),
        *((4, "api_version"), (5, "overrides"), (6, "status")),
    ]
    entry = wire.message_class("ResourceOverrides").DESCRIPTOR
    assert [field.name for field in entry.fields][:4] == ["attributes", "inherited", "domain", "project"]
    assert entry.fields[0].message_type.full_name == "flyteidl.admin.MatchingAttributes"
    assert {kind.document_key for kind in BUILT_IN.values()} >= {"taskResources", "workflowExecutionConfig"}


def test_the_python_example_of_the_guide(live, channel, tmp_path):
    put("task_resource", {"defaults": {"cpu": "1"}}, **PD)
    guide = (ROOT / "docs/guides/flyte.md").read_text()
    section = guide.partition("## All overrides at once")[2]
    (example,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    (tmp_path / ".data").mkdir()
    (tmp_path / ".data/admin.token").write_text(token_for("admin"))
    script = tmp_path / "example.py"
    script.write_text(example.replace("localhost:8089", f"127.0.0.1:{live.grpc_port}"))

    shown = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )

    assert shown.returncode == 0, shown.stderr
    assert "task_resource_attributes" in shown.stdout
    assert "kind: ConfigMap" in shown.stdout
