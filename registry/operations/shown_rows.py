"""Operations of rows: bulk changes of agents, resources, replays of sinks."""

from __future__ import annotations

from controlplane.delivery.models import Replay, SinkState
from controlplane.delivery.replays import MOST_EVENTS
from controlplane.formats.counts import counted
from registry.bulk_changes.decisions import BulkState
from registry.bulk_changes.models import AgentBulkChange
from registry.dispatch.lifecycle.states import Goal, ResourceState
from registry.dispatch.models import ResourceRow
from registry.operations.decisions import (
    UNFINISHED,
    Kind,
    Operation,
    OperationError,
    OperationState,
    Progress,
    bulk_change_state,
    replay_state,
    resource_action,
    resource_state,
)

_CANCELLABLE = frozenset({ResourceState.PENDING, ResourceState.QUEUED, ResourceState.PROVISIONING})


def show_bulk_change(row: AgentBulkChange) -> Operation:
    """Return the operation of a bulk change. An undo counts the agents that it restored or kept."""
    of_row, settled = BulkState(row.state), row.done + row.failed + row.skipped
    is_undo = of_row in (BulkState.UNDOING, BulkState.UNDONE)
    state = bulk_change_state(of_row, settled=settled, failed=row.failed)
    restored = row.undone + row.kept
    return Operation(
        kind=Kind.AGENT_BULK_CHANGE,
        key=str(row.id),
        action="undo" if is_undo else row.action,
        state=state,
        target=f"/api/v1/agent-bulk-changes/{row.id}",
        create_time=row.created_at,
        start_time=None if state is OperationState.PENDING else row.created_at,
        end_time=row.finished_at,
        can_cancel=of_row is BulkState.RUNNING,
        summary=f"{row.undone if is_undo else row.done} of {row.total} agents changed.",
        progress=Progress(restored, restored + row.done) if is_undo else Progress(settled, row.total),
        error=_bulk_change_error(row, state),
    )


def show_resource(row: ResourceRow) -> Operation:
    """Return the operation that works on the goal of a resource."""
    of_row, goal = ResourceState(row.state), Goal(row.goal)
    state = resource_state(of_row)
    is_deletion = of_row is ResourceState.DELETION_FAILED
    failed = OperationError("deletion_failed" if is_deletion else "resource_failed", row.reason)
    return Operation(
        kind=Kind.RESOURCE,
        key=row.id,
        action=resource_action(goal),
        state=state,
        target=f"/api/v1/resources/{row.id}",
        create_time=row.created_at,
        start_time=row.placed_at,
        end_time=None if state in UNFINISHED else row.state_since,
        can_cancel=goal is Goal.PRESENT and of_row in _CANCELLABLE,
        summary=f"The resource is {of_row.value.replace('_', ' ')}.",
        error=failed if state is OperationState.FAILED else None,
    )


def show_replay(row: Replay) -> Operation:
    state = replay_state(is_ended=row.ended_at is not None, is_active=row.sink.state == SinkState.ACTIVE)
    queued = MOST_EVENTS - row.remaining
    return Operation(
        kind=Kind.SINK_REPLAY,
        key=str(row.id),
        action="replay",
        state=state,
        target=f"/api/v1/sinks/{row.sink_id}",
        create_time=row.created_at,
        start_time=None if state is OperationState.PENDING else row.created_at,
        end_time=row.ended_at,
        can_cancel=False,
        summary=f"{counted(queued, 'event is', 'events are')} queued for the sink.",
        progress=Progress(queued, queued if row.ended_at else None),
    )


def _bulk_change_error(row: AgentBulkChange, state: OperationState) -> OperationError | None:
    if state is not OperationState.FAILED:
        return None
    if row.state == BulkState.STOPPED:
        return OperationError("bulk_change_stopped", row.problem)
    return OperationError("agents_failed", f"{row.failed} of {row.total} agents failed.")
