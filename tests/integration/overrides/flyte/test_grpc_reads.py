"""Ready answers over gRPC: never stale, never for somebody else, and equal to those of the ordinary path."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from flyteidl.admin import matchable_resource_pb2 as flyte
from flyteidl.admin import project_attributes_pb2 as p
from flyteidl.admin import project_domain_attributes_pb2 as pd
from flyteidl.admin import project_pb2
from flyteidl.admin import workflow_attributes_pb2 as wf
from flyteidl.service.admin_pb2_grpc import AdminServiceStub

from controlplane.access.models import RoleBinding, Token
from controlplane.scopes import Scope
from overrides.models import Domain, Project
from tests.support.api_client import make_project, token_for
from tests.support.waiting import until

IDS = {"project": "flytesnacks", "domain": "development"}
LABEL = "EXECUTION_CLUSTER_LABEL"
READ = pd.ProjectDomainAttributesGetRequest(**IDS, resource_type=LABEL)


@pytest.fixture
def stub(live) -> Iterator[AdminServiceStub]:
    make_project()
    with grpc.insecure_channel(f"127.0.0.1:{live.grpc_port}") as channel:
        grpc.channel_ready_future(channel).result(timeout=30)
        yield AdminServiceStub(channel)


def bearer(token: str) -> dict[str, Any]:
    return {"metadata": (("authorization", f"Bearer {token}"),)}


def label(value: str) -> flyte.MatchingAttributes:
    return flyte.MatchingAttributes(execution_cluster_label=flyte.ExecutionClusterLabel(value=value))


def set_label(stub: AdminServiceStub, value: str, token: str) -> None:
    request = pd.ProjectDomainAttributesUpdateRequest()
    request.attributes.project, request.attributes.domain = "flytesnacks", "development"
    request.attributes.matching_attributes.CopyFrom(label(value))
    stub.UpdateProjectDomainAttributes(request, **bearer(token))


def value_of(stub: AdminServiceStub, token: str) -> str:
    return str(
        stub.GetProjectDomainAttributes(
            READ, **bearer(token)
        ).attributes.matching_attributes.execution_cluster_label.value
    )


def failure(call: Any, request: Any, token: str) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as refused:
        call(request, **bearer(token))
    return refused.value.code(), refused.value.details()


def ready_answers(live: Any) -> int:
    """How many answers came from memory: each of them costs no query of Django."""
    token = token_for("admin")
    request = urllib.request.Request(f"{live.url}/metrics", headers={"Authorization": f"Bearer {token}"})
    text = urllib.request.urlopen(request, timeout=5).read().decode()
    lines = [line for line in text.splitlines() if line.startswith("cp_flyte_ready_answers_total ")]
    return int(float(lines[0].split()[1])) if lines else 0


def test_a_read_shows_every_write_that_was_acknowledged_before(stub):
    token = token_for("admin")

    for number in range(20):
        set_label(stub, f"v{number}", token)
        assert [value_of(stub, token) for _ in range(3)] == [f"v{number}"] * 3
    stub.DeleteProjectDomainAttributes(
        pd.ProjectDomainAttributesDeleteRequest(**IDS, resource_type=LABEL), **bearer(token)
    )
    missing = failure(stub.GetProjectDomainAttributes, READ, token)
    assert missing == failure(stub.GetProjectDomainAttributes, READ, token)
    assert missing[0] is grpc.StatusCode.NOT_FOUND
    assert "ResourceType:EXECUTION_CLUSTER_LABEL}] not found" in missing[1]

    set_label(stub, "again", token)
    assert value_of(stub, token) == "again"


def test_a_write_above_is_seen_below_and_none_is_kept_for_another_level(stub):
    token = token_for("admin")
    of_workflow = wf.WorkflowAttributesGetRequest(**IDS, workflow="a.b", resource_type=LABEL)
    of_project = p.ProjectAttributesGetRequest(project="flytesnacks", resource_type=LABEL)
    assert failure(stub.GetWorkflowAttributes, of_workflow, token)[0] is grpc.StatusCode.NOT_FOUND

    set_label(stub, "gpu", token)

    answer = stub.GetWorkflowAttributes(of_workflow, **bearer(token)).attributes
    assert (answer.domain, answer.workflow, answer.matching_attributes) == ("development", "", label("gpu"))
    assert failure(stub.GetProjectAttributes, of_project, token)[0] is grpc.StatusCode.NOT_FOUND


def test_answers_come_from_memory_and_are_counted(live, stub):
    token = token_for("admin")
    set_label(stub, "gpu", token)
    before = ready_answers(live)

    for _ in range(10):
        value_of(stub, token)

    until(lambda: ready_answers(live) >= before + 9)


def test_each_caller_gets_only_what_it_may_read(stub):
    admin = token_for("admin")
    elsewhere = token_for("viewer", scope=Scope(project="other"))
    make_project("other")
    set_label(stub, "gpu", admin)
    assert value_of(stub, admin) == "gpu"

    assert failure(stub.GetProjectDomainAttributes, READ, elsewhere)[0] is grpc.StatusCode.PERMISSION_DENIED
    assert failure(stub.GetProjectDomainAttributes, READ, "cp_pat_x")[0] is grpc.StatusCode.UNAUTHENTICATED
    listed = {
        project.id
        for project in stub.ListProjects(project_pb2.ProjectListRequest(), **bearer(admin)).projects
    }
    seen = stub.ListProjects(project_pb2.ProjectListRequest(), **bearer(elsewhere)).projects
    assert (listed, [project.id for project in seen]) == ({"flytesnacks", "other"}, ["other"])


def test_a_revoked_token_and_a_removed_role_end_at_once(stub):
    admin, viewer, other = token_for("admin"), token_for("viewer"), token_for("viewer")
    set_label(stub, "gpu", admin)
    assert value_of(stub, viewer) == value_of(stub, other) == "gpu"
    principal = Token.objects.order_by("created_at").last().principal

    RoleBinding.objects.filter(principal=principal).delete()
    assert failure(stub.GetProjectDomainAttributes, READ, other)[0] is grpc.StatusCode.PERMISSION_DENIED

    assert value_of(stub, viewer) == "gpu"
    Token.objects.exclude(principal=principal).delete()
    assert failure(stub.GetProjectDomainAttributes, READ, viewer)[0] is grpc.StatusCode.UNAUTHENTICATED


def test_an_archived_project_and_a_removed_domain_are_seen_at_once(stub):
    token = token_for("admin")
    set_label(stub, "gpu", token)
    assert value_of(stub, token) == "gpu"

    Project.objects.update(state=1)
    archived = failure(stub.GetProjectDomainAttributes, READ, token)
    assert archived == (grpc.StatusCode.INVALID_ARGUMENT, "project [flytesnacks] is not active")
    Project.objects.update(state=0)
    assert value_of(stub, token) == "gpu"

    Domain.objects.filter(id="development").delete()
    removed = failure(stub.GetProjectDomainAttributes, READ, token)
    assert removed == (grpc.StatusCode.INVALID_ARGUMENT, "domain [development] is unrecognized by system")


def test_lists_show_every_change_of_projects_and_domains(stub):
    token = bearer(token_for("admin"))
    request, domains = project_pb2.ProjectListRequest(), project_pb2.GetDomainRequest()
    assert [each.name for each in stub.ListProjects(request, **token).projects] == ["flytesnacks"]
    assert len(stub.GetDomains(domains, **token).domains) == 3

    for number in range(5):
        Project.objects.filter(id="flytesnacks").update(name=f"name {number}")
        assert [each.name for each in stub.ListProjects(request, **token).projects] == [f"name {number}"]
    make_project("other")
    Domain.objects.create(id="test", name="Test")

    assert [each.id for each in stub.ListProjects(request, **token).projects] == ["flytesnacks", "other"]
    assert "test" in {each.id for each in stub.GetDomains(domains, **token).domains}
    assert len(stub.ListProjects(project_pb2.ProjectListRequest(limit=1), **token).projects) == 1


@pytest.mark.parametrize(
    "change",
    [{"project": ""}, {"project": "a/b\x00"}, {"domain": "nowhere"}, {"resource_type": 44}, {"org": "x"}],
)
def test_unusual_questions_are_answered_by_the_ordinary_path(stub, change):
    token = token_for("admin")
    set_label(stub, "gpu", token)
    request = pd.ProjectDomainAttributesGetRequest(**{**IDS, "resource_type": LABEL, **change})

    if "org" in change:
        assert stub.GetProjectDomainAttributes(request, **bearer(token)).attributes.project == "flytesnacks"
    else:
        code, message = failure(stub.GetProjectDomainAttributes, request, token)
        assert code in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND)
        assert message
