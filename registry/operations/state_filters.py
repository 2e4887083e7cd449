"""Conditions that select rows by the state of their operation, as `decisions` derives it from one row."""

from __future__ import annotations

from django.db.models import Q

from controlplane.delivery.models import SinkState
from registry.bulk_changes.decisions import BulkState
from registry.operations.decisions import OperationState, resource_states

_UNTOUCHED = Q(done=0, failed=0, skipped=0)
_OF_BULK_CHANGE = {
    OperationState.PENDING: Q(state=BulkState.RUNNING) & _UNTOUCHED,
    OperationState.RUNNING: (Q(state=BulkState.RUNNING) & ~_UNTOUCHED) | Q(state=BulkState.UNDOING),
    OperationState.SUCCEEDED: Q(state=BulkState.DONE, failed=0) | Q(state=BulkState.UNDONE),
    OperationState.FAILED: Q(state=BulkState.DONE, failed__gt=0) | Q(state=BulkState.STOPPED),
    OperationState.CANCELLED: Q(state=BulkState.CANCELLED),
}
_NOT_ENDED = Q(ended_at=None)
_OF_REPLAY = {
    OperationState.PENDING: _NOT_ENDED & ~Q(sink__state=SinkState.ACTIVE),
    OperationState.RUNNING: _NOT_ENDED & Q(sink__state=SinkState.ACTIVE),
    OperationState.SUCCEEDED: ~_NOT_ENDED,
}


def of_bulk_change(state: OperationState) -> Q:
    return _OF_BULK_CHANGE[state]


def of_resource(state: OperationState) -> Q:
    return Q(state__in=resource_states(state))


def of_replay(state: OperationState) -> Q:
    return _OF_REPLAY.get(state, Q(pk__in=[]))
