"""Encode events of the log in the formats of FlyteAdmin 1.16.8. Pure.

Source: flyteadmin/pkg/async/cloudevent/implementations/cloudevent_publisher.go, and Flyte's guide "Cloud
Events" for `flyte-docs`. Ours alone is the extension `cpid`: the id of the event in our log, since
FlyteAdmin's ids repeat with each attempt at a task.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from flyteidl.event import cloudevents_pb2
from google.protobuf import json_format
from google.protobuf.message import Message

from controlplane.delivery.flavours import Flavour, ForeignMessage
from controlplane.delivery.logged_event import LoggedEvent
from overrides.executions.phases import Subject
from overrides.flyte.events.go_text import go_text, phase_name
from overrides.flyte.events.reports import REQUESTS, subject_of
from overrides.flyte.flavours.jsonpb import dumps, go_time

_PREFIX = "com.flyte.resource."
_SOURCE = "https://github.com/flyteorg/flyte/flyteadmin"
_SCHEMA = "https://github.com/flyteorg/flyteidl/blob/v0.24.14/jsonschema/workflow_execution.json"
_DOCUMENTED_SOURCE = "https://github.com/flyteorg/flyteadmin"
_DOCUMENTED_SCHEMA = "https://github.com/flyteorg/flyteidl/blob/master/jsonschema/{subject}_execution.json"
_JSON = "application/json"
_WRAPPED: dict[Subject, type[Any]] = {
    Subject.WORKFLOW: cloudevents_pb2.CloudEventWorkflowExecution,
    Subject.NODE: cloudevents_pb2.CloudEventNodeExecution,
    Subject.TASK: cloudevents_pb2.CloudEventTaskExecution,
}
_NAMES = {
    Subject.WORKFLOW: "cloudevents.WorkflowExecution",
    Subject.NODE: "cloudevents.NodeExecution",
    Subject.TASK: "cloudevents.TaskExecution",
}


def encode(flavour: Flavour, event: LoggedEvent) -> ForeignMessage:
    """Return an event of Flyte's engine in a flavour; for other events, such as tests, an example.

    Raises ValueError for an event whose message cannot be read.
    """
    request = _request(event)
    subject = subject_of(request)
    name = request.DESCRIPTOR.full_name
    if flavour is Flavour.FLYTE_EXTERNAL:
        return ForeignMessage(name, {}, request.SerializeToString(deterministic=True))
    common = {"specversion": "1.0", "id": _id(subject, request), "cpid": str(event.id)}
    common["time"] = go_time(request.event.occurred_at)
    if flavour is Flavour.FLYTE_V1:
        attributes = {"source": _SOURCE, "type": _PREFIX + name, "jsonschemaurl": _SCHEMA}
        return ForeignMessage(name, {**common, **attributes, "datacontenttype": _JSON}, dumps(request))
    if flavour is Flavour.FLYTE_V2:
        topic = _NAMES[subject]
        attributes = {"source": _source(subject, request.event), "type": _PREFIX + topic, "jsonschemaurl": ""}
        data = dumps(_wrapped(subject, request, event.data))
        return ForeignMessage(topic, {**common, **attributes, "datacontenttype": _JSON}, data)
    return _documented(subject, request, common)


def _documented(subject: Subject, request: Message, common: Mapping[str, str]) -> ForeignMessage:
    name = f"admin_event_pb2.{request.DESCRIPTOR.name}"
    attributes = {
        **common,
        "source": _DOCUMENTED_SOURCE,
        "type": f"{_PREFIX}{subject}",
        "subject": name,
        "jsonschemaurl": _DOCUMENTED_SCHEMA.format(subject=subject),
    }
    data = base64.b64encode(request.SerializeToString(deterministic=True))
    return ForeignMessage(name, attributes, data, is_text=True)


def _request(event: LoggedEvent) -> Any:
    kind, _, rest = event.type.partition(".")
    if kind != "flyte":
        return _example()
    message = REQUESTS[Subject(rest.removesuffix("_event"))]()
    try:
        return json_format.ParseDict(event.data["message"], message, ignore_unknown_fields=True)
    except (json_format.Error, KeyError) as error:
        raise ValueError(f"The event {event.id} is no message of Flyte: {error}") from error


def _example() -> Any:
    request = REQUESTS[Subject.WORKFLOW]()
    request.request_id = "test"
    ids = request.event.execution_id
    ids.project, ids.domain, ids.name = "controlplane", "test", "test"
    return request


def _id(subject: Subject, request: Any) -> str:
    event = request.event
    ids = {Subject.WORKFLOW: "execution_id", Subject.NODE: "id", Subject.TASK: "task_id"}[subject]
    phase = phase_name(event.DESCRIPTOR.fields_by_name["phase"].enum_type, event.phase)
    return f"{go_text(getattr(event, ids))}.{phase}"


def _source(subject: Subject, event: Any) -> str:
    if subject is Subject.WORKFLOW:
        return f"{event.execution_id.name}/end-node"
    node = event.id if subject is Subject.NODE else event.parent_node_execution_id
    source = f"{node.execution_id.name}/{node.node_id}"
    return f"{source}/{event.retry_attempt}" if subject is Subject.TASK else source


def _wrapped(subject: Subject, request: Any, data: Mapping[str, Any]) -> Message:
    """Return FlyteAdmin's message of version 2, with what the log knows of the execution."""
    message = _WRAPPED[subject](raw_event=request.event)
    if not _is_enriched(subject, request.event):
        return message  # type: ignore[no-any-return]
    message.labels.update(data.get("labels") or {})
    if subject is not Subject.TASK:
        message.principal = data.get("principal") or ""
        if launch_plan := data.get("launch_plan"):
            json_format.ParseDict(launch_plan, message.launch_plan_id, ignore_unknown_fields=True)
    return message  # type: ignore[no-any-return]


def _is_enriched(subject: Subject, event: Any) -> bool:
    """Return whether FlyteAdmin adds what it knows: to all events of tasks, to others of success."""
    if subject is Subject.TASK:
        return True
    succeeded = event.DESCRIPTOR.fields_by_name["phase"].enum_type.values_by_name["SUCCEEDED"].number
    is_start = subject is Subject.NODE and event.id.node_id == "start-node"
    return bool(event.phase == succeeded) and not is_start
