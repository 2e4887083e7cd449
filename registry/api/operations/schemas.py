"""Query parameters and answers of operations."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rest_framework import serializers

from controlplane.api.pages import PageQuery
from registry.operations.decisions import Kind, Operation, OperationState

KINDS = [(kind.value, kind.value) for kind in Kind]
STATES = [(state.value, state.value) for state in OperationState]


class OperationListQuery(PageQuery):
    kind = serializers.ChoiceField(choices=KINDS, required=False, help_text="Only of this kind.")
    state = serializers.ChoiceField(choices=STATES, required=False, help_text="Only in this state.")


class OperationProgressRead(serializers.Serializer[Any]):
    done = serializers.IntegerField()
    total = serializers.IntegerField(allow_null=True, help_text="Null if it is not known in advance.")


class OperationResultRead(serializers.Serializer[Any]):
    summary = serializers.CharField()
    link = serializers.CharField(help_text="Path of the object.")


class OperationErrorRead(serializers.Serializer[Any]):
    code = serializers.CharField()
    detail = serializers.CharField()


class OperationRead(serializers.Serializer[Any]):
    id = serializers.CharField(help_text="The kind, a full stop, and the id of the object.")
    kind = serializers.ChoiceField(choices=KINDS)
    action = serializers.CharField(help_text="What it does, such as `drain`, `create` or `replay`.")
    state = serializers.ChoiceField(choices=STATES)
    done = serializers.BooleanField(help_text="Whether it succeeded, failed or was cancelled.")
    progress = OperationProgressRead(allow_null=True, help_text="Null if the operation has no parts.")
    result = OperationResultRead(allow_null=True, help_text="Null until it has succeeded.")
    error = OperationErrorRead(allow_null=True, help_text="Null unless it has failed.")
    can_cancel = serializers.BooleanField()
    create_time = serializers.DateTimeField(help_text="When its object was requested.")
    start_time = serializers.DateTimeField(allow_null=True)
    end_time = serializers.DateTimeField(allow_null=True)
    target = serializers.CharField(help_text="Path of the object that it works on.")


class OperationPage(serializers.Serializer[Any]):
    items = OperationRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


def show_operation(operation: Operation) -> dict[str, Any]:
    has_succeeded = operation.state is OperationState.SUCCEEDED
    content = {
        "id": operation.id,
        "kind": operation.kind.value,
        "action": operation.action,
        "state": operation.state.value,
        "done": operation.is_done,
        "progress": asdict(operation.progress) if operation.progress else None,
        "result": {"summary": operation.summary, "link": operation.target} if has_succeeded else None,
        "error": asdict(operation.error) if operation.error else None,
        "can_cancel": operation.can_cancel,
        "create_time": operation.create_time,
        "start_time": operation.start_time,
        "end_time": operation.end_time,
        "target": operation.target,
    }
    return dict(OperationRead(content).data)
