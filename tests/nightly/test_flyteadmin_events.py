"""One execution's events to a FlyteAdmin itself, through us to it, and to us alone: the answers are equal.

`FLYTEADMIN_URL` names the FlyteAdmin, as for test_flyteadmin.py, and `FLYTEADMIN_DATABASE` its database, such
as postgresql://postgres@127.0.0.1:5432/flyteadmin: executions are put there, since starting one needs a
cluster. They have names that no other run uses, and stay. What differs on purpose is in ADR 0061.
"""

from __future__ import annotations

import http.client
import os
import re
import secrets
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import grpc
import psycopg
import pytest
from flyteidl.admin import event_pb2, execution_pb2
from flyteidl.core import identifier_pb2 as ids
from google.rpc.status_pb2 import Status

from controlplane.events.models import Event
from overrides.executions.models import FlyteExecution
from overrides.flyte.errors import HTTP_STATUS, Code
from overrides.flyte.events.reports import subject_of
from tests.support.api_client import token_for
from tests.support.flyte_events import (
    PROTOBUF,
    known_execution,
    node_event,
    path_of,
    task_event,
    workflow_event,
)
from tests.support.flyte_grpc import grpc_stub
from tests.support.flyte_messages import SNAKE, FlyteHttp, write

URL, DATABASE = os.environ.get("FLYTEADMIN_URL", ""), os.environ.get("FLYTEADMIN_DATABASE", "")
pytestmark = [
    pytest.mark.skipif(not URL or not DATABASE, reason="FLYTEADMIN_URL or FLYTEADMIN_DATABASE is not set."),
    pytest.mark.django_db(transaction=True),
]


class Answer(NamedTuple):
    """What a server said of an event. detail: of its terminal phase."""

    code: str
    message: str
    detail: str


def story(name: str) -> list[Any]:
    """The events of an execution, with repetitions and with events that come too late."""
    return [
        *(workflow_event("QUEUED", name), workflow_event("QUEUED", name), workflow_event("RUNNING", name)),
        *(workflow_event("RUNNING", name), workflow_event("QUEUED", name)),
        *(node_event("QUEUED", "n0", name), node_event("RUNNING", "n0", name)),
        *(node_event("RUNNING", "n0", name), node_event("RUNNING", "n1", name)),
        *(task_event("RUNNING", name=name), task_event("RUNNING", version=1, name=name)),
        *(task_event("RUNNING", version=1, name=name), task_event("RETRYABLE_FAILED", name=name)),
        *(task_event("RUNNING", retry=1, name=name), task_event("FAILED", retry=1, name=name)),
        *(task_event("FAILED", retry=1, name=name), task_event("RUNNING", retry=1, name=name)),
        *(node_event("FAILED", "n0", name), node_event("FAILED", "n0", name)),
        node_event("RUNNING", "n0", name),
        *(workflow_event("FAILING", name), workflow_event("FAILED", name), workflow_event("FAILED", name)),
        *(workflow_event("RUNNING", name), workflow_event("SUCCEEDED", name)),
        # Nodes may report after their workflow.
        node_event("ABORTED", "n1", name),
    ]


def unplaced(name: str) -> list[Any]:
    """Events that name nothing, or nothing that exists."""
    nowhere = task_event("RUNNING", name=name)
    nowhere.event.ClearField("task_id")
    timeless = task_event("RUNNING", name=name)
    timeless.event.ClearField("occurred_at")
    empty = event_pb2.WorkflowExecutionEventRequest(request_id="r")
    return [nowhere, timeless, empty, event_pb2.TaskExecutionEventRequest()]


@pytest.fixture
def execution() -> Callable[[], str]:
    return new_execution


def new_execution() -> str:
    """Put an execution into FlyteAdmin's database; return its name."""
    known, name = known_execution(), f"e{secrets.token_hex(6)}"
    closure = execution_pb2.ExecutionClosure(workflow_id=known.closure.workflow_id)
    closure.created_at.seconds = closure.updated_at.seconds = 1
    known.spec.launch_plan.CopyFrom(
        ids.Identifier(
            resource_type="LAUNCH_PLAN", project="flytesnacks", domain="development", name="core.lp"
        )
    )
    with psycopg.connect(DATABASE, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO executions (execution_project, execution_domain, execution_name, phase, closure,"
            " spec, created_at, updated_at, execution_created_at, execution_updated_at, state, cluster)"
            " VALUES ('flytesnacks', 'development', %s, 'UNDEFINED', %s, %s, now(), now(), now(), now(), 0,"
            " '')",
            [name, closure.SerializeToString(), known.spec.SerializeToString()],
        )
    return name


def to_flyteadmin(event: Any) -> tuple[int, bytes]:
    address = urlsplit(URL)
    connection = http.client.HTTPConnection(address.hostname or "", address.port or 80, timeout=30)
    headers = {"Content-Type": PROTOBUF, "Accept": PROTOBUF}
    connection.request("POST", f"/api/v1/{path_of(event)}", event.SerializeToString(), headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


def through(flyte_http: FlyteHttp) -> Callable[[Any], tuple[int, bytes]]:
    def send(event: Any) -> tuple[int, bytes]:
        answer = flyte_http("POST", path_of(event), write(event, SNAKE), sends=SNAKE, accepts=PROTOBUF)
        return answer.status_code, answer.content

    return send


def played(send: Callable[[Any], tuple[int, bytes]], events: list[Any], name: str) -> list[Answer]:
    answers = []
    for event in events:
        http_status, content = send(event)
        if http_status == 200:
            answers.append(Answer("OK", "", ""))
            continue
        status = Status.FromString(content)
        assert http_status == HTTP_STATUS[Code(status.code)]
        answers.append(Answer(Code(status.code).name, comparable(status.message, name), detail_of(status)))
    return answers


def comparable(message: str, name: str) -> str:
    """Without names of the execution and of its node's row, and with one space where Go writes one or two."""
    plain = re.sub(r" +", " ", message.replace("\u00a0", " ").replace(f'"{name}"', '"NAME"'))
    return re.sub(r"(?<=for node execution ).*", "…", plain)


def detail_of(status: Status) -> str:
    reason = event_pb2.EventFailureReason()
    return str(reason).strip() if status.details and status.details[0].Unpack(reason) and str(reason) else ""


@pytest.fixture
def flyte_http(db: None) -> FlyteHttp:
    return FlyteHttp(token_for("admin"))


def test_through_us_an_execution_gets_flyteadmins_own_answers(settings, flyte_http, execution):
    settings.FLYTE_EVENTS, settings.FLYTE_ADMIN_URL = "relay", URL
    direct, relayed = execution(), execution()

    expected = played(to_flyteadmin, [*story(direct), *unplaced(direct)], direct)
    actual = played(through(flyte_http), [*story(relayed), *unplaced(relayed)], relayed)

    assert actual == expected
    assert {answer.code for answer in expected} == {
        *("OK", "ALREADY_EXISTS", "FAILED_PRECONDITION", "INVALID_ARGUMENT")
    }
    accepted = [event for event, answer in zip(story(relayed), expected, strict=False) if answer.code == "OK"]
    logged = list(Event.objects.filter(object_type="flyte_execution").order_by("position"))
    assert [event.type for event in logged] == [f"flyte.{subject_of(event)}_event" for event in accepted]
    assert {(event.workflow, event.data["labels"]["team"]) for event in logged} == {("core.wf", "ml")}
    assert FlyteExecution.objects.get(name=relayed).phase == "FAILED"


def test_over_grpc_the_same(settings, execution):
    settings.FLYTE_EVENTS, settings.FLYTE_ADMIN_URL = "relay", URL
    direct, relayed = execution(), execution()
    metadata = (("authorization", f"Bearer {token_for('admin')}"),)

    with grpc_stub() as stub:
        calls = {
            "workflow": stub.CreateWorkflowEvent,
            "node": stub.CreateNodeEvent,
            "task": stub.CreateTaskEvent,
        }

        def send(event: Any) -> tuple[int, bytes]:
            try:
                calls[subject_of(event)](event, metadata=metadata)
            except grpc.RpcError as error:
                code = Code(error.code().value[0])
                trailers = dict(error.trailing_metadata() or ())
                status = Status.FromString(trailers.get("grpc-status-details-bin", b""))
                status.code, status.message = code, error.details()
                return HTTP_STATUS[code], status.SerializeToString()
            return 200, b""

        actual = played(send, story(relayed), relayed)

    assert actual == played(to_flyteadmin, story(direct), direct)


def test_alone_we_answer_as_flyteadmin_does(settings, flyte_http, execution):
    direct = execution()
    expected = played(to_flyteadmin, [*story(direct), *unplaced(direct)], direct)

    settings.FLYTE_EVENTS = "store"
    actual = played(through(flyte_http), [*story("e"), *unplaced("e")], "e")

    assert [without_phase(answer) for answer in actual] == [without_phase(answer) for answer in expected]


def without_phase(answer: Answer) -> Answer:
    """FlyteAdmin puts the phase that it refuses into the detail of nodes and tasks."""
    return answer._replace(detail=answer.detail.partition("current_phase")[0])


def test_its_known_defects_are_still_there_and_not_ours(settings, flyte_http, execution):
    """If one of these is mended upstream, ADR 0061 wants a look."""
    settings.FLYTE_EVENTS = "store"
    name = execution()
    ended = [node_event("FAILED", "n0", name), node_event("RUNNING", "n0", name)]
    (_, theirs), (_, ours) = (played(send, ended, name) for send in (to_flyteadmin, through(flyte_http)))
    assert "RUNNING" in theirs.detail
    assert "FAILED" in ours.detail

    # It only logs what it misses in events of nodes, and then takes the first execution that it finds.
    nameless = node_event("RUNNING", "n0", name)
    nameless.event.id.ClearField("execution_id")
    (theirs,), (ours,) = (played(send, [nameless], name) for send in (to_flyteadmin, through(flyte_http)))
    assert "missing" not in theirs.message
    assert (ours.code, ours.message) == ("INVALID_ARGUMENT", "missing execution_id")
