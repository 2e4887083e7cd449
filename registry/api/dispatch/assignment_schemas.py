"""API schemas of the assignments of a resource."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from registry.dispatch.lifecycle.records import Verdict
from registry.dispatch.lifecycle.states import AssignmentState
from registry.dispatch.models import TimelineRow
from registry.dispatch.resources.timelines import AssignmentHistory

STATES = [(state.value, state.value) for state in AssignmentState]
VERDICTS = [(verdict.value, verdict.value) for verdict in Verdict]


class TimelineEntryRead(serializers.Serializer[Any]):
    at = serializers.DateTimeField()
    what = serializers.CharField(help_text="Type of the message, or the name of a step.")
    verdict = serializers.ChoiceField(choices=VERDICTS, help_text="What the message or step changed.")
    text = serializers.CharField()
    event_id = serializers.CharField(help_text="Id of the CloudEvent; empty for a step.")
    actor = serializers.CharField()


class AssignmentRead(serializers.Serializer[Any]):
    epoch = serializers.IntegerField(help_text="Number of the attempt, from 1.")
    agent = serializers.CharField(help_text="Name that the agent had.")
    agent_id = serializers.UUIDField()
    state = serializers.ChoiceField(choices=STATES)
    since = serializers.DateTimeField()
    reason = serializers.CharField()
    tries = serializers.IntegerField(help_text="How often the request was sent.")
    proven = serializers.BooleanField(help_text="An answer showed that something exists, or may exist.")
    deletion_tries = serializers.IntegerField(help_text="How often the deletion was sent.")
    refusals = serializers.IntegerField(help_text="Errors since the deletion was sent.")
    created_at = serializers.DateTimeField()
    timeline = TimelineEntryRead(many=True)


class AssignmentPage(serializers.Serializer[Any]):
    items = AssignmentRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


def show_assignment(history: AssignmentHistory) -> dict[str, Any]:
    row = history.assignment
    return {
        **{name: getattr(row, name) for name in _STORED_FIELDS},
        "agent": row.agent_name,
        "agent_id": str(row.agent_id),
        "timeline": [_show_entry(entry) for entry in history.entries],
    }


def _show_entry(entry: TimelineRow) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in _ENTRY_FIELDS}


_COMPUTED = {"agent", "agent_id", "timeline"}
_STORED_FIELDS = tuple(name for name in AssignmentRead().get_fields() if name not in _COMPUTED)
_ENTRY_FIELDS = tuple(TimelineEntryRead().get_fields())
