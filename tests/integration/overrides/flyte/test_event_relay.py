"""Events on their way to FlyteAdmin, several at once, and over gRPC."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from flyteidl.admin import event_pb2, project_pb2
from flyteidl.service.admin_pb2_grpc import AdminServiceStub
from google.rpc.status_pb2 import Status

from controlplane.events.models import Event
from overrides.executions.models import FlyteExecution
from tests.support.api_client import token_for
from tests.support.flyte_events import (
    PROTOBUF,
    Answer,
    FakeFlyteAdmin,
    known_execution,
    node_event,
    path_of,
    refusal,
    running_flyteadmin,
    task_event,
    workflow_event,
)
from tests.support.flyte_grpc import grpc_stub
from tests.support.flyte_messages import SNAKE, FlyteHttp, write

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def admin(settings: Any) -> Iterator[FakeFlyteAdmin]:
    with running_flyteadmin() as admin:
        settings.FLYTE_EVENTS, settings.FLYTE_ADMIN_URL = "relay", admin.url
        settings.FLYTE_ADMIN_SECONDS = 1
        yield admin


@pytest.fixture
def flyte_http(db: None) -> FlyteHttp:
    return FlyteHttp(token_for("admin"))


@pytest.fixture
def stub(settings: Any, db: None) -> Iterator[AdminServiceStub]:
    settings.FLYTE_EVENTS = "store"
    with grpc_stub() as stub:
        yield stub


def send(flyte_http: FlyteHttp, request: Any, sends: str = PROTOBUF) -> Any:
    return flyte_http("POST", path_of(request), write(request, sends), sends=sends)


def phases() -> list[str]:
    return [event.data["phase"] for event in Event.objects.order_by("position")]


@pytest.mark.parametrize("sends", [SNAKE, PROTOBUF])
def test_the_bytes_go_on_unchanged_and_what_is_accepted_is_recorded(admin, flyte_http, sends):
    request = workflow_event("RUNNING")
    body = write(request, sends) + (b"" if sends == PROTOBUF else b" \n")

    assert flyte_http("POST", "events/workflows", body, sends=sends).status_code == 200

    (arrived,) = admin.events
    assert (arrived.path, arrived.body) == ("/api/v1/events/workflows", body)
    assert arrived.headers["content-type"] == sends
    assert "authorization" not in arrived.headers
    assert phases() == ["RUNNING"]


def test_nothing_is_recorded_that_flyteadmin_refuses(admin, flyte_http):
    detail = event_pb2.EventFailureReason()
    detail.incompatible_cluster.cluster = "c2"
    admin.reply = lambda request: refusal(9, "Cluster/producer from event", 400, detail)

    answer = send(flyte_http, workflow_event("RUNNING"))
    shown = flyte_http("POST", "events/nodes", write(node_event("RUNNING"), SNAKE), sends=SNAKE)

    status = Status.FromString(answer.content)
    assert (answer.status_code, status.code, status.message) == (400, 9, "Cluster/producer from event")
    reason = event_pb2.EventFailureReason()
    assert status.details[0].Unpack(reason)
    assert reason == detail
    assert shown.json()["details"][0]["incompatible_cluster"] == {"cluster": "c2"}
    assert not Event.objects.exists()
    assert not FlyteExecution.objects.exists()


@pytest.mark.parametrize("answer", [Answer(502, content_type="text/html"), Answer(hang=1.5)])
def test_without_an_answer_of_flyteadmin_nothing_is_recorded_and_the_engine_tries_again(
    admin, flyte_http, answer
):
    admin.reply = lambda request: answer

    refused = send(flyte_http, workflow_event("RUNNING"))

    assert (refused.status_code, Status.FromString(refused.content).code) == (503, 14)
    assert not Event.objects.exists()
    admin.reply = lambda request: Answer()
    assert send(flyte_http, workflow_event("RUNNING")).status_code == 200


def test_an_event_that_flyteadmin_had_before_our_crash_is_recorded_when_it_is_sent_again(admin, flyte_http):
    admin.reply = lambda request: refusal(6, "This phase RUNNING was already recorded", 409)

    answers = [send(flyte_http, workflow_event("RUNNING")) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [409, 409]
    assert phases() == ["RUNNING"]


def test_an_event_without_ids_does_not_go_on(admin, flyte_http):
    """FlyteAdmin would apply it to any execution that it finds first."""
    request = node_event("RUNNING")
    request.event.id.ClearField("execution_id")

    answer = send(flyte_http, request)

    assert Status.FromString(answer.content).message == "missing execution_id"
    assert not admin.events


def test_flyteadmin_is_asked_once_for_what_events_do_not_tell(admin, flyte_http):
    admin.execution = known_execution()
    for event in (workflow_event("RUNNING"), node_event("RUNNING"), task_event("RUNNING")):
        assert send(flyte_http, event).status_code == 200

    assert [request.path for request in admin.arrived if request.method == "GET"] == [
        "/api/v1/executions/flytesnacks/development/e1"
    ]
    events = list(Event.objects.order_by("position"))
    assert {event.workflow for event in events} == {"core.wf"}
    assert events[2].data["labels"] == {"team": "ml"}
    assert (events[2].data["principal"], events[2].data["launch_plan"]["name"]) == ("ada", "core.lp")


def test_of_ends_that_come_at_once_one_counts(settings, stub):
    metadata = (("authorization", f"Bearer {token_for('admin')}"),)
    for number in range(5):
        name = f"e{number}"
        ends = [workflow_event(phase, name) for phase in ("SUCCEEDED", "FAILED", "ABORTED", "TIMED_OUT")]
        futures = [stub.CreateWorkflowEvent.future(end, metadata=metadata) for end in ends]
        codes = sorted(future.code().name for future in futures)
        assert codes == ["FAILED_PRECONDITION"] * 3 + ["OK"]
    assert Event.objects.count() == 5


def test_over_grpc_the_bytes_and_the_details_are_the_same(admin):
    metadata = (("authorization", f"Bearer {token_for('admin')}"),)
    request = task_event("RUNNING")
    detail = event_pb2.EventFailureReason()
    detail.already_in_terminal_state.current_phase = "FAILED"
    with grpc_stub() as stub:
        assert stub.CreateTaskEvent(request, metadata=metadata) == event_pb2.TaskExecutionEventResponse()
        admin.reply = lambda request: refusal(9, "no", 400, detail)
        with pytest.raises(grpc.RpcError) as refused:
            stub.CreateTaskEvent(request, metadata=metadata)

    assert [(arrived.path, arrived.body) for arrived in admin.events] == [
        ("/api/v1/events/tasks", request.SerializeToString())
    ] * 2
    trailers = dict(refused.value.trailing_metadata())
    status = Status.FromString(trailers["grpc-status-details-bin"])
    reason = event_pb2.EventFailureReason()
    assert status.details[0].Unpack(reason)
    assert (refused.value.code(), reason) == (grpc.StatusCode.FAILED_PRECONDITION, detail)


def test_the_log_has_the_order_in_which_flyteadmin_accepted(admin):
    accepted: list[str] = []
    lock = threading.Lock()

    def reply(request: Any) -> Answer:
        event = event_pb2.NodeExecutionEventRequest.FromString(request.body)
        with lock:
            accepted.append(event.event.id.node_id)
        return Answer(hang=random.random() / 100)

    admin.reply = reply
    metadata = (("authorization", f"Bearer {token_for('admin')}"),)
    with grpc_stub() as stub:
        calls = [
            stub.CreateNodeEvent.future(node_event("RUNNING", f"n{number}"), metadata=metadata)
            for number in range(30)
        ]
        assert {call.code().name for call in calls} == {"OK"}

    nodes = [event.data["message"]["event"]["id"]["nodeId"] for event in Event.objects.order_by("position")]
    assert nodes == accepted


def test_a_connection_that_flyteadmin_closed_meanwhile_is_opened_again(admin, flyte_http):
    admin.closes = True

    assert [send(flyte_http, workflow_event(phase)).status_code for phase in ("RUNNING", "FAILED")] == [
        200,
        200,
    ]
    assert len(admin.events) == 2


def test_over_grpc_events_can_be_large_and_other_calls_cannot(stub, settings):
    metadata = (("authorization", f"Bearer {token_for('admin')}"),)
    large = "x" * (2 * settings.MAX_BODY_BYTES)

    stub.CreateWorkflowEvent(workflow_event("RUNNING", producer_id=large), metadata=metadata)
    with pytest.raises(grpc.RpcError) as refused:
        stub.RegisterProject(project_pb2.ProjectRegisterRequest(project={"id": large}), metadata=metadata)

    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_off_the_grpc_server_has_no_such_methods(settings):
    settings.FLYTE_EVENTS = "off"
    with grpc_stub() as stub, pytest.raises(grpc.RpcError) as refused:
        stub.CreateWorkflowEvent(workflow_event("RUNNING"))
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
