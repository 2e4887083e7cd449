"""Events of Flyte's engine over HTTP: formats, phases, permissions, limits."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from flyteidl.admin import event_pb2
from google.protobuf import json_format
from google.rpc.status_pb2 import Status

from controlplane.events.models import Event
from controlplane.scopes import Scope
from overrides.executions.models import FlyteExecution, FlyteStep
from overrides.executions.retention import delete_old_executions
from overrides.flyte import json_reading
from tests.support.api_client import Api, token_for
from tests.support.flyte_events import node_event, path_of, task_event, workflow_event
from tests.support.flyte_messages import CAMEL, PROTOBUF, SNAKE, FlyteHttp, write

pytestmark = pytest.mark.django_db


@pytest.fixture
def flyte_http(settings: Any) -> FlyteHttp:
    settings.FLYTE_EVENTS = "store"
    return FlyteHttp(token_for("admin"))


def send(flyte_http: FlyteHttp, request: Any, sends: str = PROTOBUF) -> Any:
    return flyte_http("POST", path_of(request), write(request, sends), sends=sends)


def refusal_of(answer: Any) -> tuple[int, int, str, list[Any]]:
    status = Status.FromString(answer.content)
    return answer.status_code, status.code, status.message, list(status.details)


def test_off_as_before_they_are_unknown_methods():
    token = token_for("admin")
    for kind, rpc in (("workflows", "Workflow"), ("nodes", "Node"), ("tasks", "Task")):
        answer = FlyteHttp(token)("POST", f"events/{kind}", {})
        message = f"unknown method Create{rpc}Event for service flyteidl.service.AdminService"
        assert (answer.status_code, answer.json()["code"], answer.json()["message"]) == (501, 12, message)


@pytest.mark.parametrize("sends", [SNAKE, CAMEL, PROTOBUF])
@pytest.mark.parametrize("event", [workflow_event("RUNNING"), node_event("RUNNING"), task_event("RUNNING")])
def test_an_event_of_every_kind_and_format_is_in_the_log(flyte_http, sends, event):
    answer = send(flyte_http, event, sends)

    assert (answer.status_code, answer.content) == (200, b"" if sends == PROTOBUF else b"{}")
    logged = Event.objects.get()
    kind = event.DESCRIPTOR.name.removesuffix("ExecutionEventRequest").lower()
    assert logged.type == f"flyte.{kind}_event"
    assert (logged.object_type, logged.object_id) == ("flyte_execution", "flytesnacks/development/e1")
    assert (logged.project, logged.domain, logged.workflow) == ("flytesnacks", "development", "")
    assert logged.data["phase"] == "RUNNING"
    assert json_format.ParseDict(logged.data["message"], type(event)()) == event


def test_our_own_list_of_events_stays_where_it_was(flyte_http):
    send(flyte_http, workflow_event("RUNNING"))

    listed = Api(token_for("admin")).get("events?type=flyte.workflow_event").json()["items"]

    assert [event["data"]["phase"] for event in listed] == ["RUNNING"]


def test_after_a_terminal_phase_the_same_exists_and_others_fail_with_the_current_phase(flyte_http):
    for phase in ("QUEUED", "QUEUED", "RUNNING", "FAILED"):
        assert send(flyte_http, workflow_event(phase)).status_code == 200

    same = refusal_of(send(flyte_http, workflow_event("FAILED")))
    other = refusal_of(send(flyte_http, workflow_event("RUNNING")))

    name = 'workflow execution project:"flytesnacks" domain:"development" name:"e1"'
    assert same == (409, 6, f"This phase FAILED was already recorded for {name}", [])
    assert other[:3] == (400, 9, f"Invalid phase change from FAILED to RUNNING for {name}")
    reason = event_pb2.EventFailureReason()
    assert other[3][0].Unpack(reason)
    assert reason.already_in_terminal_state.current_phase == "FAILED"
    assert Event.objects.count() == 4


def test_nodes_and_attempts_at_tasks_have_phases_of_their_own(flyte_http):
    accepted = [
        *(node_event("RUNNING"), node_event("SKIPPED"), node_event("RUNNING", "n1")),
        *(task_event("RUNNING"), task_event("RUNNING", version=1), task_event("FAILED")),
        *(task_event("RUNNING", retry=1), node_event("RUNNING", name="e2")),
    ]
    assert [send(flyte_http, event).status_code for event in accepted] == [200] * 8

    refused = [
        *(node_event("SKIPPED"), node_event("RUNNING"), node_event("RUNNING", "n1")),
        *(task_event("FAILED"), task_event("RUNNING", version=2), task_event("RUNNING", retry=1)),
    ]
    codes = [refusal_of(send(flyte_http, event))[1] for event in refused]

    assert codes == [6, 9, 6, 6, 9, 6]
    assert (FlyteExecution.objects.count(), FlyteStep.objects.count(), Event.objects.count()) == (2, 5, 8)
    text = refusal_of(send(flyte_http, task_event("FAILED")))[2]
    assert text == (
        "have already recorded task execution phase FAILED (version: 0) for"
        ' task_id:{resource_type:TASK project:"flytesnacks" domain:"development" name:"t" version:"v1"}'
        ' node_execution_id:{node_id:"n0" execution_id:{project:"flytesnacks" domain:"development"'
        ' name:"e1"}}'
    )


def without(event: Any, path: str) -> Any:
    *parents, name = path.split(".")
    part = event
    for parent in parents:
        part = getattr(part, parent)
    part.ClearField(name)
    return event


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (without(workflow_event("RUNNING"), "event"), "Workflow event handler was called without event"),
        (
            without(workflow_event("RUNNING"), "event.execution_id"),
            "Workflow event handler request event doesn't have an execution id"
            " - phase:RUNNING occurred_at:{seconds:1795426200}",
        ),
        (without(workflow_event("RUNNING"), "event.execution_id.domain"), "missing domain"),
        (without(node_event("RUNNING"), "event"), "missing event"),
        (without(node_event("RUNNING"), "event.id"), "missing id"),
        (without(node_event("RUNNING"), "event.id.node_id"), "missing node_id"),
        (without(node_event("RUNNING"), "event.id.execution_id"), "missing execution_id"),
        (without(task_event("RUNNING"), "event.occurred_at"), "missing occurred_at"),
        (without(task_event("RUNNING"), "event.parent_node_execution_id"), "missing node_execution_id"),
        (without(task_event("RUNNING"), "event.task_id"), "missing task_id"),
        (without(task_event("RUNNING"), "event.task_id.version"), "missing version"),
        (
            without(task_event("RUNNING"), "event.task_id.resource_type"),
            'unexpected resource type unspecified for identifier [project:"flytesnacks" domain:"development"'
            ' name:"t" version:"v1"], expected task instead',
        ),
        (workflow_event("RUNNING", name="x" * 256), "name cannot exceed 255 characters"),
        (workflow_event("RUNNING", producer_id="a\0"), "A text has a NUL character (U+0000), which cannot"),
    ],
)
def test_what_is_missing_or_too_much_is_an_invalid_argument(flyte_http, event, message):
    status, code, text, _ = refusal_of(send(flyte_http, event))

    assert (status, code, text[: len(message)]) == (400, 3, message)
    assert not Event.objects.exists()
    assert not FlyteExecution.objects.exists()


def test_hostile_messages_are_refused_or_kept_as_they_are(flyte_http):
    odd = workflow_event("RUNNING")
    odd.event.phase = 99
    odd.event.error.code = "x" * 5000
    assert send(flyte_http, odd).status_code == 200
    execution = FlyteExecution.objects.get()
    assert (execution.phase, len(execution.error_code)) == ("99", 2048)

    for change in (
        lambda event: setattr(event.occurred_at, "seconds", 2**62),
        lambda event: setattr(event.occurred_at, "nanos", -1),
        lambda event: event.output_data.literals["a"].scalar.generic.update({"a": float("nan")}),
        lambda event: setattr(event.execution_id, "project", "a\nb"),
    ):
        hostile = workflow_event("SUCCEEDED")
        change(hostile.event)
        assert refusal_of(send(flyte_http, hostile))[:2] == (400, 3)
    assert refusal_of(flyte_http("POST", "events/tasks", b"\xff" * 100, sends=PROTOBUF))[:2] == (400, 3)
    assert Event.objects.count() == 1


def test_ten_megabytes_are_taken_and_more_are_refused(flyte_http, settings):
    large = workflow_event("RUNNING", producer_id="x" * (settings.FLYTE_EVENT_BYTES - 200))
    assert send(flyte_http, large).status_code == 200

    larger = workflow_event("SUCCEEDED", producer_id="x" * settings.FLYTE_EVENT_BYTES)
    assert refusal_of(send(flyte_http, larger))[1] == 3
    assert Event.objects.count() == 1


def test_an_event_of_a_node_costs_few_statements(flyte_http, django_assert_max_num_queries):
    send(flyte_http, node_event("QUEUED"))

    # Token, savepoints of the test, lock, phase so far, phase, event.
    with django_assert_max_num_queries(8) as queries:
        send(flyte_http, node_event("RUNNING"))
    assert len([query for query in queries if "SAVEPOINT" not in query["sql"]]) <= 6, queries.captured_queries


def test_old_executions_are_deleted_with_their_nodes(flyte_http, settings):
    send(flyte_http, node_event("RUNNING"))
    send(flyte_http, node_event("RUNNING", name="e2"))
    old = Now() - timedelta(days=settings.FLYTE_EXECUTIONS_DAYS + 1)
    FlyteExecution.objects.filter(name="e1").update(updated_at=old)

    assert (delete_old_executions(), delete_old_executions()) == (1, 0)
    assert [step.execution.name for step in FlyteStep.objects.all()] == ["e2"]


def test_types_that_are_switched_off_are_answered_and_not_logged(flyte_http, settings):
    settings.FLYTE_EVENT_TYPES = ("workflow",)

    assert send(flyte_http, node_event("RUNNING")).status_code == 200
    assert refusal_of(send(flyte_http, node_event("RUNNING")))[1] == 6
    assert not Event.objects.exists()


def test_it_takes_the_right_to_write_there(flyte_http):
    for token, code in (
        ("", 16),
        (token_for("viewer"), 7),
        (token_for("editor", scope=Scope(project="other")), 7),
        (token_for("editor", scope=Scope(project="flytesnacks")), 0),
    ):
        answer = send(FlyteHttp(token), workflow_event("RUNNING"))
        assert Status.FromString(answer.content).code == code, answer.content
    assert Event.objects.count() == 1


def test_json_has_every_kind_of_value_that_events_can_have():
    body = {
        "event": {
            "occurredAt": "2026-11-23T10:30:00.000000001+01:00",
            "outputData": {
                "literals": {
                    "integer": {"scalar": {"primitive": {"integer": "-9223372036854775808"}}},
                    "float": {"scalar": {"primitive": {"floatValue": 1e300}}},
                    "nan": {"scalar": {"primitive": {"floatValue": "NaN"}}},
                    "time": {"scalar": {"primitive": {"datetime": "2026-11-23T09:30:00Z"}}},
                    "bytes": {"scalar": {"binary": {"value": "_-8"}}},
                    "size": {"offloadedMetadata": {"sizeBytes": "18446744073709551615"}},
                    "generic": {"scalar": {"generic": {"a": [1, None]}}},
                }
            },
        }
    }
    expected = json_format.ParseDict(body, event_pb2.WorkflowExecutionEventRequest())
    message = event_pb2.WorkflowExecutionEventRequest()

    json_reading.loads(json.dumps(body).encode(), message, strict=False)

    assert str(message) == str(expected)


@pytest.mark.parametrize(
    ("member", "text"),
    [
        ('"occurredAt":"2026-11-23"', 'invalid google.protobuf.Timestamp value "2026-11-23"'),
        ('"occurredAt":"2026-13-23T00:00:00Z"', "invalid google.protobuf.Timestamp value"),
        ('"outputData":{"literals":{"a":{"scalar":{"binary":{"value":"*"}}}}}', "invalid value for bytes"),
        (
            '"outputData":{"literals":{"a":{"scalar":{"primitive":{"floatValue":1e999}}}}}',
            "invalid value for double",
        ),
        (
            '"outputData":{"literals":{"a":{"scalar":{"primitive":{"integer":9223372036854775808}}}}}',
            "invalid value for int64",
        ),
    ],
)
def test_values_of_json_that_are_none(flyte_http, member, text):
    answer = flyte_http("POST", "events/workflows", f'{{"event":{{{member}}}}}'.encode(), sends=SNAKE)

    assert (answer.status_code, answer.json()["code"]) == (400, 3)
    assert text in answer.json()["message"]
