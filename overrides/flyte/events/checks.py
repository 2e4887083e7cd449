"""FlyteAdmin's checks of events, in its order and with its texts. Pure.

Source: flyteadmin/pkg/manager/impl/validation of v1.16.8. FlyteAdmin only logs what it finds in events of
nodes, and then misses the execution; we refuse them.
"""

from __future__ import annotations

from typing import Any

from flyteidl.core import identifier_pb2

from overrides.flyte.errors import FlyteError, invalid
from overrides.flyte.events.go_text import go_text, phase_name

_TYPES = identifier_pb2.ResourceType.DESCRIPTOR
# Widths of FlyteAdmin's columns.
_LONGEST_NAME = 255


def check_workflow_event(request: Any) -> None:
    if not request.HasField("event"):
        raise invalid("Workflow event handler was called without event")
    if not request.event.HasField("execution_id"):
        raise invalid(
            f"Workflow event handler request event doesn't have an execution id - {go_text(request.event)}"
        )
    _check_execution_id(request.event.execution_id)


def check_node_event(request: Any) -> None:
    if not request.HasField("event"):
        raise _missing("event")
    if not request.event.HasField("id"):
        raise _missing("id")
    _check_node_id(request.event.id)


def check_task_event(request: Any) -> None:
    if not request.HasField("event"):
        raise _missing("event")
    event = request.event
    if not event.HasField("occurred_at"):
        raise _missing("occurred_at")
    if not event.HasField("parent_node_execution_id"):
        raise _missing("node_execution_id")
    _check_node_id(event.parent_node_execution_id)
    if not event.HasField("task_id"):
        raise _missing("task_id")
    if event.task_id.resource_type != identifier_pb2.TASK:
        kind = phase_name(_TYPES, event.task_id.resource_type).lower()
        task = go_text(event.task_id)
        raise invalid(f"unexpected resource type {kind} for identifier [{task}], expected task instead")
    _check_names(event.task_id, ("project", "domain", "name", "version"))


def _check_node_id(node: Any) -> None:
    if not node.HasField("execution_id"):
        raise _missing("execution_id")
    _check_names(node, ("node_id",))
    _check_execution_id(node.execution_id)


def _check_execution_id(execution: Any) -> None:
    _check_names(execution, ("project", "domain", "name"))


def _check_names(ids: Any, names: tuple[str, ...]) -> None:
    for name in names:
        value = getattr(ids, name)
        if not value:
            raise _missing(name)
        if len(value) > _LONGEST_NAME:
            raise invalid(f"{name} cannot exceed {_LONGEST_NAME} characters")


def _missing(name: str) -> FlyteError:
    return invalid(f"missing {name}")
