"""Flyte's gRPC clients against the running process: flytekit's own, and raw calls."""

from __future__ import annotations

import datetime
import ipaddress
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from flyteidl.admin import matchable_resource_pb2 as flyte
from flyteidl.admin import project_domain_attributes_pb2 as pd
from flyteidl.admin import project_pb2, task_pb2, version_pb2
from flyteidl.service.admin_pb2_grpc import AdminServiceStub
from flytekit.clients.friendly import SynchronousFlyteClient
from flytekit.configuration import AuthType, PlatformConfig
from flytekit.configuration.file import ConfigFile
from flytekit.exceptions.system import FlyteSystemException
from flytekit.exceptions.user import FlyteUserException
from flytekit.models.matchable_resource import MatchableResource, MatchingAttributes
from flytekit.models.project import Project as FlytekitProject
from google.rpc.status_pb2 import Status
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from controlplane.access.models import AuditRecord
from overrides.models import Override, Project
from tests.conftest import ROOT
from tests.support.api_client import Api, make_project, token_for
from tests.support.flyte_messages import EXAMPLES, FlyteHttp, read
from tests.support.waiting import until

PD = "project_domain_attributes/flytesnacks/development"


@pytest.fixture
def channel(live) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(f"127.0.0.1:{live.grpc_port}") as channel:
        grpc.channel_ready_future(channel).result(timeout=30)
        yield channel


@pytest.fixture
def stub(channel) -> AdminServiceStub:
    return AdminServiceStub(channel)


def bearer(token: str, key: str = "authorization") -> tuple[tuple[str, str], ...]:
    return ((key, f"Bearer {token}"),)


def flytekit_client(live: Any, folder: Path, token: str, **more: Any) -> SynchronousFlyteClient:
    (folder / "token").write_text(token)
    config = PlatformConfig(
        endpoint=f"127.0.0.1:{live.grpc_port}",
        auth_mode=AuthType.EXTERNAL_PROCESS,
        command=["cat", str(folder / "token")],
        rpc_retries=0,
        **{"insecure": True, **more},
    )
    return SynchronousFlyteClient(config)


def update(project: str = "flytesnacks", kind: str = "EXECUTION_CLUSTER_LABEL") -> Any:
    request = pd.ProjectDomainAttributesUpdateRequest()
    request.attributes.project, request.attributes.domain = project, "development"
    request.attributes.matching_attributes.CopyFrom(EXAMPLES[kind])
    return request


# flytekit's own client, unmodified.


def test_flytekit_reads_and_writes_attributes(live, channel, tmp_path):
    make_project()
    client = flytekit_client(live, tmp_path, token_for("admin"))
    # flytekit's own models hold these four types only.
    for kind in ("CLUSTER_RESOURCE", "EXECUTION_QUEUE", "EXECUTION_CLUSTER_LABEL", "PLUGIN_OVERRIDE"):
        attributes_sent = MatchingAttributes.from_flyte_idl(EXAMPLES[kind])
        number = flyte.MatchableResource.Value(kind)

        client.update_project_domain_attributes("flytesnacks", "development", attributes_sent)
        attributes = client.get_project_domain_attributes("flytesnacks", "development", number)

        assert attributes.attributes.matching_attributes == EXAMPLES[kind]
    attributes_sent = MatchingAttributes.from_flyte_idl(EXAMPLES["EXECUTION_QUEUE"])
    client.update_workflow_attributes("flytesnacks", "development", "a.b", attributes_sent)
    attributes = client.get_workflow_attributes(
        "flytesnacks", "development", "a.b", MatchableResource.EXECUTION_QUEUE
    )
    assert attributes.attributes.workflow == "a.b"
    listed = client.list_matchable_attributes(MatchableResource.EXECUTION_QUEUE)
    assert [configuration.workflow for configuration in listed.configurations] == ["a.b", ""]


def test_flytekit_registers_lists_and_archives_projects(live, channel, tmp_path):
    client = flytekit_client(live, tmp_path, token_for("admin"))

    client.register_project(FlytekitProject("p", "P", "d"))
    client.register_project(FlytekitProject("q", "Q", "d"))
    projects, token = client.list_projects_paginated(limit=1)
    assert ([project.id for project in projects], token) == (["p"], "1")
    archived = FlytekitProject("p", "P", "d")
    archived._state = FlytekitProject.ProjectState.ARCHIVED
    client.update_project(archived)

    assert Project.objects.get(id="p").state == 1
    assert [domain.id for domain in client.get_domains()] == ["development", "staging", "production"]


def test_flytekit_is_told_what_is_wrong(live, channel, tmp_path):
    make_project()
    client = flytekit_client(live, tmp_path, token_for("admin"))

    with pytest.raises((FlyteUserException, FlyteSystemException)) as missing:
        client.get_project_domain_attributes("flytesnacks", "development", MatchableResource.TASK_RESOURCE)
    assert "not found" in str(missing.value)

    stranger = flytekit_client(live, tmp_path, "cp_pat_nonsense")
    with pytest.raises((FlyteUserException, FlyteSystemException)):
        stranger.get_project_domain_attributes("flytesnacks", "development", 0)


# Raw calls.


@pytest.mark.parametrize("kind", EXAMPLES)
def test_what_grpc_writes_http_reads_and_the_other_way_round(live, stub, kind):
    make_project()
    token = token_for("admin")
    request = pd.ProjectDomainAttributesGetRequest(
        project="flytesnacks", domain="development", resource_type=kind
    )

    stub.UpdateProjectDomainAttributes(update(kind=kind), metadata=bearer(token))
    http = read(
        pd.ProjectDomainAttributesGetResponse(),
        FlyteHttp(token).get(f"{PD}?resource_type={kind}", accepts="application/octet-stream"),
        "application/octet-stream",
    )
    assert http.attributes.matching_attributes == EXAMPLES[kind]

    Override.objects.all().delete()
    FlyteHttp(token).put(PD, update(kind=kind).SerializeToString(), sends="application/octet-stream")
    answer = stub.GetProjectDomainAttributes(request, metadata=bearer(token, "flyte-authorization"))
    assert answer == http


def test_calls_that_are_not_ours_are_unimplemented(stub):
    with pytest.raises(grpc.RpcError) as refused:
        stub.CreateTask(task_pb2.TaskCreateRequest(), metadata=bearer(token_for("admin")))
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize(
    ("roles", "code"),
    [((), grpc.StatusCode.UNAUTHENTICATED), (("viewer",), grpc.StatusCode.PERMISSION_DENIED)],
)
def test_who_may_not_write_is_told(stub, roles, code):
    make_project()
    metadata = bearer(token_for(*roles)) if roles else ()

    with pytest.raises(grpc.RpcError) as refused:
        stub.UpdateProjectDomainAttributes(update(), metadata=metadata)

    assert refused.value.code() is code
    assert stub.GetVersion(version_pb2.GetVersionRequest()).control_plane_version.Version


def test_errors_carry_their_details(stub):
    make_project()
    Project.objects.update(state=1)

    with pytest.raises(grpc.RpcError) as refused:
        stub.UpdateProjectDomainAttributes(update(), metadata=bearer(token_for("admin")))

    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert refused.value.details() == "project [flytesnacks] is not active"
    trailing = dict(refused.value.trailing_metadata())
    (detail,) = Status.FromString(trailing["grpc-status-details-bin"]).details
    inactive = project_pb2.InactiveProject()
    assert detail.Unpack(inactive)
    assert inactive.id == "flytesnacks"


def test_a_request_without_attributes_and_one_of_an_unknown_type(stub):
    make_project()
    metadata = bearer(token_for("admin"))

    with pytest.raises(grpc.RpcError) as empty:
        stub.UpdateProjectDomainAttributes(pd.ProjectDomainAttributesUpdateRequest(), metadata=metadata)
    assert empty.value.details() == "missing attributes"
    request = pd.ProjectDomainAttributesGetRequest(project="flytesnacks", domain="development")
    request.resource_type = 44
    with pytest.raises(grpc.RpcError) as unknown:
        stub.GetProjectDomainAttributes(request, metadata=metadata)
    assert (unknown.value.code(), "ResourceType:44}" in unknown.value.details()) == (
        grpc.StatusCode.NOT_FOUND,
        True,
    )
    with pytest.raises(grpc.RpcError) as listed:
        stub.ListMatchableAttributes(
            flyte.ListMatchableAttributesRequest(resource_type=44), metadata=metadata
        )
    assert listed.value.details() == "invalid value for resource_type"


def test_the_request_id_reaches_the_audit_log(stub):
    make_project()
    metadata = (*bearer(token_for("admin")), ("x-request-id", "grpc-1"))

    stub.UpdateProjectDomainAttributes(update(), metadata=metadata)

    assert AuditRecord.objects.filter(action="override.created").get().request_id == "grpc-1"


def test_health_and_reflection(channel):
    health = health_pb2_grpc.HealthStub(channel)
    for service in ("", "flyteadmin", "flyteidl.service.AdminService"):
        answer = health.Check(health_pb2.HealthCheckRequest(service=service))
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
    server_reflection_requests = iter([reflection_pb2.ServerReflectionRequest(list_services="")])
    (server_reflection_info,) = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(
        server_reflection_requests
    )
    names = {service.name for service in server_reflection_info.list_services_response.service}
    assert {"flyteidl.service.AdminService", "flyteidl.service.AuthMetadataService"} <= names


def test_calls_are_counted(live, stub):
    make_project()
    token = token_for("admin")
    stub.UpdateProjectDomainAttributes(update(), metadata=bearer(token))

    import urllib.request

    request = urllib.request.Request(f"{live.url}/metrics", headers={"Authorization": f"Bearer {token}"})
    figures = urllib.request.urlopen(request, timeout=30).read().decode()

    counted = 'cp_flyte_calls_total{call="UpdateProjectDomainAttributes",code="OK",transport="grpc"}'
    assert counted in figures


def test_concurrent_first_writes_never_fail(stub):
    make_project()
    metadata = bearer(token_for("admin"))

    with ThreadPoolExecutor(20) as pool:
        calls = [
            pool.submit(stub.UpdateProjectDomainAttributes, update(), metadata=metadata) for _ in range(20)
        ]
        answers = [call.result(timeout=30) for call in calls]

    assert len(answers) == 20
    assert Override.objects.count() == 1


def test_concurrent_updates_of_plugin_overrides_lose_none(stub):
    make_project()
    metadata = bearer(token_for("admin"))

    def write(number: int) -> None:
        request = update()
        matching = flyte.MatchingAttributes()
        matching.plugin_overrides.overrides.add(task_type=f"t{number}", plugin_id=["x"])
        request.attributes.matching_attributes.CopyFrom(matching)
        stub.UpdateProjectDomainAttributes(request, metadata=metadata)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(write, range(16)))

    task_types = {override["task_type"] for override in Override.objects.get().attributes["overrides"]}
    assert task_types == {f"t{number}" for number in range(16)}


# A server of its own: TLS, the file source, the end.


def _certificate(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName(
        [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    )
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "cert.pem", folder / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return paths


@pytest.fixture
def started(live, tmp_path):
    """Start a gRPC process with settings of its own; give its port."""
    from controlplane.local.programs import free_port

    processes: list[subprocess.Popen[bytes]] = []

    def start(**more: str) -> tuple[int, subprocess.Popen[bytes]]:
        port = free_port()
        environment = {**os.environ, **live.environment, "FLYTE_GRPC_PORT": str(port), **more}
        with (tmp_path / f"{port}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, str(ROOT / "manage.py"), "flyte_grpc"],
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        processes.append(process)
        log_file = tmp_path / f"{port}.log"
        until(lambda: b"Flyte gRPC on" in log_file.read_bytes() or process.poll() is not None)
        assert process.poll() is None, log_file.read_text()
        return port, process

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.wait()


def test_the_configuration_of_the_guide(live, channel, tmp_path):
    make_project()
    guide = (ROOT / "docs/guides/flyte.md").read_text()
    match, *_ = re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)
    (tmp_path / "admin.token").write_text(token_for("admin"))
    file = tmp_path / "config.yaml"
    file.write_text(
        match.replace("localhost:8089", f"localhost:{live.grpc_port}").replace(".data", str(tmp_path))
    )

    client = SynchronousFlyteClient(PlatformConfig.auto(ConfigFile(str(file))))

    attributes = MatchingAttributes.from_flyte_idl(EXAMPLES["EXECUTION_QUEUE"])
    client.update_project_domain_attributes("flytesnacks", "development", attributes)
    assert Override.objects.get().resource_type == "execution_queue"


def test_flytekit_over_tls(live, started, tmp_path):
    make_project()
    certificate, key = _certificate(tmp_path)
    port, _ = started(FLYTE_GRPC_TLS_CERT=str(certificate), FLYTE_GRPC_TLS_KEY=str(key))
    live_at = type("At", (), {"grpc_port": port})
    tls = {"insecure": False, "ca_cert_file_path": str(certificate)}
    client = flytekit_client(live_at, tmp_path, token_for("admin"), **tls)

    attributes = MatchingAttributes.from_flyte_idl(EXAMPLES["EXECUTION_QUEUE"])
    client.update_project_domain_attributes("flytesnacks", "development", attributes)

    assert Override.objects.get().resource_type == "execution_queue"
    with grpc.insecure_channel(f"127.0.0.1:{port}") as plain, pytest.raises(grpc.RpcError):
        AdminServiceStub(plain).GetVersion(version_pb2.GetVersionRequest(), timeout=3)


def test_with_the_file_source_writes_fail_with_failed_precondition(live, started, tmp_path):
    make_project()
    (tmp_path / "files").mkdir()
    port, _ = started(OVERRIDES_SOURCE="file", OVERRIDES_PATH=str(tmp_path / "files"))
    metadata = bearer(token_for("admin"))
    request = pd.ProjectDomainAttributesDeleteRequest(project="flytesnacks", domain="development")

    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = AdminServiceStub(channel)
        for call, message in (
            (stub.UpdateProjectDomainAttributes, update()),
            (stub.DeleteProjectDomainAttributes, request),
        ):
            with pytest.raises(grpc.RpcError) as refused:
                call(message, metadata=metadata)
            assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert not Override.objects.exists()


def test_a_stop_lets_calls_end(live, started):
    make_project()
    port, process = started()
    metadata = bearer(token_for("admin"))
    answered: list[Any] = []

    def write() -> None:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub = AdminServiceStub(channel)
            for _ in range(400):
                try:
                    answered.append(stub.UpdateProjectDomainAttributes(update(), metadata=metadata))
                except grpc.RpcError as error:
                    answered.append(error.code())
                    return

    thread = threading.Thread(target=write)
    thread.start()
    until(lambda: len(answered) >= 3)
    process.send_signal(signal.SIGTERM)

    assert process.wait(60) == 0
    thread.join(60)
    # The last one was turned away at the door, none in the middle. One that had come, and that no thread had
    # taken yet when the door was shut, is cancelled by gRPC itself.
    assert answered[-1] in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
    assert Api(token_for("admin")).get("overrides").json()["items"][0]["version"] >= 1


def test_health_ends_before_answers_do(started):
    port, process = started(LEAVE_SECONDS="30")
    process.send_signal(signal.SIGTERM)

    def health() -> Any:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            return health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest()).status

    until(lambda: health() == health_pb2.HealthCheckResponse.NOT_SERVING, 60, pause=0.1)
    with grpc.insecure_channel(f"127.0.0.1:{port}") as later:
        assert AdminServiceStub(later).GetVersion(version_pb2.GetVersionRequest()).control_plane_version
    # A second signal ends the time to leave.
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0


@pytest.mark.nightly
def test_a_client_reconnects_now_and_then_and_no_call_fails(live, started):
    make_project()
    port, _ = started(FLYTE_GRPC_CONNECTION_SECONDS="1")
    metadata = bearer(token_for("admin"))
    states: list[grpc.ChannelConnectivity] = []

    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        channel.subscribe(states.append)
        stub = AdminServiceStub(channel)
        end = time.monotonic() + 5
        while time.monotonic() < end:
            stub.UpdateProjectDomainAttributes(update(), metadata=metadata)

    assert states.count(grpc.ChannelConnectivity.READY) >= 3


def test_a_port_that_is_taken_is_told(live):
    environment = {**os.environ, **live.environment, "FLYTE_GRPC_PORT": str(live.grpc_port)}
    ended = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "flyte_grpc"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert ended.returncode == 1
    assert "Set FLYTE_GRPC_PORT to a free port" in ended.stderr


def test_a_nul_is_an_invalid_argument_over_grpc_too(stub):
    make_project()
    request = project_pb2.ProjectGetRequest(id="a\x00b")

    with pytest.raises(grpc.RpcError) as refused:
        stub.GetProject(request, metadata=bearer(token_for("admin")))

    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
