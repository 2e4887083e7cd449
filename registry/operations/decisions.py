"""States, progress and ids of operations, derived from the objects that they work on. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from registry.bulk_changes.decisions import BulkState
from registry.dispatch.lifecycle.states import Goal, ResourceState

# RFC 7240: `wait` alone among preferences; other preferences, and what cannot be read, are ignored.
_WAIT = re.compile(r"(?:^|[,;])\s*wait\s*=\s*\"?([0-9]{1,9})\"?\s*(?=$|[,;])", re.IGNORECASE)
MOST_SECONDS = 30


class Kind(StrEnum):
    """The order of the members is that of operations created at the same instant."""

    AGENT_BULK_CHANGE = "agent_bulk_change"
    RESOURCE = "resource"
    SINK_REPLAY = "sink_replay"


class OperationState(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


UNFINISHED = frozenset({OperationState.PENDING, OperationState.RUNNING})


@dataclass(frozen=True, slots=True)
class Progress:
    """total: None if it is not known in advance."""

    done: int
    total: int | None


@dataclass(frozen=True, slots=True)
class OperationError:
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class Operation:
    """What continues. key: id of its object. target: path of its object. summary: the result in words."""

    kind: Kind
    key: str
    action: str
    state: OperationState
    target: str
    create_time: datetime
    start_time: datetime | None
    end_time: datetime | None
    can_cancel: bool
    summary: str
    progress: Progress | None = None
    error: OperationError | None = None

    @property
    def id(self) -> str:
        return operation_id(self.kind, self.key)

    @property
    def is_done(self) -> bool:
        return self.state not in UNFINISHED


_OF_RESOURCE = {
    ResourceState.PENDING: OperationState.PENDING,
    ResourceState.QUEUED: OperationState.RUNNING,
    ResourceState.PROVISIONING: OperationState.RUNNING,
    ResourceState.RUNNING: OperationState.SUCCEEDED,
    ResourceState.FAILED: OperationState.FAILED,
    ResourceState.CANCELLING: OperationState.RUNNING,
    ResourceState.CANCELLED: OperationState.CANCELLED,
    ResourceState.DELETING: OperationState.RUNNING,
    ResourceState.DELETION_FAILED: OperationState.FAILED,
    ResourceState.DELETED: OperationState.SUCCEEDED,
}
_ACTIONS = {Goal.PRESENT: "create", Goal.CANCELLED: "cancel", Goal.DELETED: "delete"}


def bulk_change_state(state: BulkState, *, settled: int, failed: int) -> OperationState:
    """Return the state of a bulk change. settled: agents that changed, failed or were skipped.

    A complete change with failed agents has failed, so that a script does not go on as if all had changed.
    """
    match state:
        case BulkState.RUNNING:
            return OperationState.RUNNING if settled else OperationState.PENDING
        case BulkState.UNDOING:
            return OperationState.RUNNING
        case BulkState.DONE:
            return OperationState.FAILED if failed else OperationState.SUCCEEDED
        case BulkState.STOPPED:
            return OperationState.FAILED
        case BulkState.CANCELLED:
            return OperationState.CANCELLED
        case BulkState.UNDONE:
            return OperationState.SUCCEEDED


def resource_state(state: ResourceState) -> OperationState:
    return _OF_RESOURCE[state]


def resource_states(state: OperationState) -> list[str]:
    """Return the states of resources whose operation has this state."""
    return [of_row.value for of_row, operation in _OF_RESOURCE.items() if operation is state]


def resource_action(goal: Goal) -> str:
    return _ACTIONS[goal]


def replay_state(*, is_ended: bool, is_active: bool) -> OperationState:
    """Return the state of a replay. is_active: whether its sink is."""
    if is_ended:
        return OperationState.SUCCEEDED
    return OperationState.RUNNING if is_active else OperationState.PENDING


def operation_id(kind: Kind, key: object) -> str:
    return f"{kind.value}.{key}"


def operation_path(kind: Kind, key: object) -> str:
    return f"/api/v1/operations/{operation_id(kind, key)}"


def read_operation_id(text: str) -> tuple[Kind, str] | None:
    """Return kind and key; None if no operation can have this id."""
    kind, _, key = text.partition(".")
    return (Kind(kind), key) if key and kind in set(Kind) else None


def preferred_wait(header: str) -> int:
    """Return the seconds of `Prefer: wait=…`, at most 30; 0 without this preference."""
    preference = _WAIT.search(header)
    return min(int(preference[1]), MOST_SECONDS) if preference else 0
