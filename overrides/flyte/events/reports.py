"""Turn requests of Flyte's engine into reports. Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from flyteidl.admin import event_pb2
from google.protobuf import json_format
from google.protobuf.message import Message

from controlplane.formats.strict_json import depth_of
from controlplane.scopes import Scope
from overrides.executions.phases import Subject
from overrides.executions.reports import Report
from overrides.flyte.errors import invalid
from overrides.flyte.events.checks import check_node_event, check_task_event, check_workflow_event
from overrides.flyte.events.go_text import go_text, phase_name

# protobuf's parser allows 100 messages within each other. No reader of the log should meet more.
_DEEPEST = 200
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

SUBJECTS: dict[str, Subject] = {
    "CreateWorkflowEvent": Subject.WORKFLOW,
    "CreateNodeEvent": Subject.NODE,
    "CreateTaskEvent": Subject.TASK,
}
REQUESTS: dict[Subject, Callable[[], Any]] = {
    Subject.WORKFLOW: event_pb2.WorkflowExecutionEventRequest,
    Subject.NODE: event_pb2.NodeExecutionEventRequest,
    Subject.TASK: event_pb2.TaskExecutionEventRequest,
}
RESPONSES: dict[Subject, Callable[[], Message]] = {
    Subject.WORKFLOW: event_pb2.WorkflowExecutionEventResponse,
    Subject.NODE: event_pb2.NodeExecutionEventResponse,
    Subject.TASK: event_pb2.TaskExecutionEventResponse,
}
_CHECKS: dict[Subject, Callable[[Any], None]] = {
    Subject.WORKFLOW: check_workflow_event,
    Subject.NODE: check_node_event,
    Subject.TASK: check_task_event,
}


def subject_of(request: Message) -> Subject:
    name = request.DESCRIPTOR.name
    return next(subject for subject, made in REQUESTS.items() if made().DESCRIPTOR.name == name)


def execution_id_of(request: Any) -> Any:
    """Return the execution's identifier of an event, with empty fields where none was sent."""
    event = request.event
    if isinstance(request, event_pb2.WorkflowExecutionEventRequest):
        return event.execution_id
    node = event.id if isinstance(request, event_pb2.NodeExecutionEventRequest) else None
    return (node if node is not None else event.parent_node_execution_id).execution_id


def nearest_scope(request: Any) -> Scope:
    """Return the scope for checking permissions, before empty ids are refused. Raises InvalidScope."""
    ids = execution_id_of(request)
    return Scope(project=ids.project, domain=ids.domain) if ids.project else Scope()


def report_of(request: Any) -> Report:
    """Return what an event reports. Raises FlyteError if ids are missing or the log could not hold it."""
    subject = subject_of(request)
    _CHECKS[subject](request)
    ids, event = execution_id_of(request), request.event
    return Report(
        subject,
        project=ids.project,
        domain=ids.domain,
        execution=ids.name,
        phase=phase_name(event.DESCRIPTOR.fields_by_name["phase"].enum_type, event.phase),
        message=_as_json(request),
        step=_step(subject, event),
        version=event.phase_version if subject is Subject.TASK else 0,
        occurred_at=_time(event.occurred_at) if event.HasField("occurred_at") else None,
        error_code=event.error.code,
    )


def object_text(request: Any) -> str:
    """Return the object of an event as FlyteAdmin's messages name it."""
    event = request.event
    if subject_of(request) is Subject.TASK:
        return _step(Subject.TASK, event)
    return go_text(event.id if subject_of(request) is Subject.NODE else event.execution_id)


def _step(subject: Subject, event: Any) -> str:
    if subject is Subject.WORKFLOW:
        return ""
    if subject is Subject.NODE:
        return str(event.id.node_id)
    retry = f" retry_attempt:{event.retry_attempt}" if event.retry_attempt else ""
    task, node = go_text(event.task_id), go_text(event.parent_node_execution_id)
    return f"task_id:{{{task}}} node_execution_id:{{{node}}}{retry}"


def _as_json(request: Message) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json_format.MessageToDict(request)
    except (json_format.Error, ValueError, ArithmeticError, RecursionError) as error:
        raise invalid(f"proto: {error}") from error
    if depth_of(document) > _DEEPEST:
        raise invalid(f"proto: exceeded maximum recursion depth {_DEEPEST}")
    return document


def _time(stamp: Any) -> datetime:
    try:
        return _EPOCH + timedelta(seconds=stamp.seconds, microseconds=stamp.nanos // 1000)
    except OverflowError as error:
        raise invalid("proto: google.protobuf.Timestamp is out of range") from error
