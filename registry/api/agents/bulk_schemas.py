"""Bodies and query parameters of bulk changes of agents."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.api.fields import Flag, Instant, StrictSerializer, Text, Whole
from controlplane.api.pages import PageQuery
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from controlplane.api.time_range import SinceField, UntilField
from registry.agents.states import State
from registry.bulk_changes.decisions import UNDOABLE, BulkAction, BulkState, ItemState
from registry.bulk_changes.models import AgentBulkChange

BULK_ACTIONS = [(action.value, action.value) for action in BulkAction]
BULK_STATES = [(state.value, state.value) for state in BulkState]
BULK_ITEM_STATES = [(state.value, state.value) for state in ItemState]
_MOST_IDS = 1000
_COUNTS = ("done", "failed", "skipped", "undone", "kept")
_UNDONE = (BulkState.UNDOING, BulkState.UNDONE)
# In the body: in `search_agents`.
_RENAMED = {"state": "health_status", "label_selector": "selector"}


class AgentSelectorWrite(StrictSerializer):
    """Filters of the list of agents; agents that match all of them are selected."""

    environment = Text(required=False, max_length=255)
    state = serializers.ListField(
        child=serializers.ChoiceField(choices=[(state.value, state.value) for state in State]),
        required=False,
        allow_empty=False,
        max_length=len(State),
        help_text="In one of these states.",
    )
    label_selector = Text(
        required=False, max_length=2000, help_text="As in Kubernetes: team=ml,region in (eu,us),!old."
    )
    task_type = Text(required=False, max_length=128, help_text="That serve the task type, in any version.")
    service_type = Text(required=False, max_length=255, help_text="That advertise the service type.")
    team = Text(required=False, max_length=63, help_text="Of this team.")
    q = Text(required=False, max_length=255, help_text="With this text in the name.")
    since = SinceField(help_text="Whose state changed since then: a duration or an RFC 3339 time.")
    until = UntilField(help_text="Whose state has not changed since then.")
    agent_ids = serializers.ListField(
        child=serializers.UUIDField(),
        required=False,
        allow_empty=False,
        max_length=_MOST_IDS,
        help_text="These agents. Refused if one does not match or may not be changed.",
    )


class AgentBulkChangeWrite(StrictSerializer):
    selector = AgentSelectorWrite(help_text="Which agents. `{}` selects all, and must be confirmed.")
    reason = Text(max_length=255, help_text="Shown with each agent, and in the audit log.")
    confirm = Whole(
        required=False, min_value=0, help_text="Number of agents; required for more than ten agents."
    )
    batch_size = Whole(
        required=False, default=100, min_value=1, max_value=1000, help_text="Agents per batch."
    )
    pause_seconds = Whole(
        required=False, default=5, min_value=0, max_value=3600, help_text="Pause between batches."
    )
    allow_last_agents = Flag(
        required=False, default=False, help_text="Also the last ready agent of a task type."
    )


class AgentBulkDrainWrite(AgentBulkChangeWrite):
    until = Instant(required=False, help_text="When the drains end automatically.")


class LastAgentRead(serializers.Serializer[Any]):
    environment = serializers.CharField()
    task_type = serializers.CharField()


class BulkImpactRead(serializers.Serializer[Any]):
    agents = serializers.IntegerField(help_text="Agents that change.")
    unchanged = serializers.IntegerField(help_text="Agents that match, but do not change.")
    by_state = serializers.DictField(child=serializers.IntegerField())
    environment_count = serializers.IntegerField()
    by_environment = serializers.DictField(
        child=serializers.IntegerField(), help_text="The 50 environments with the most agents."
    )
    last_agents = LastAgentRead(
        many=True, help_text="Task types that would lose their last ready agent, at most 50."
    )
    work_in_progress = serializers.IntegerField(help_text="Resources of these agents.")
    confirm = serializers.IntegerField(allow_null=True, help_text="To send as `confirm`; null if not needed.")


class BulkCountsRead(serializers.Serializer[Any]):
    total = serializers.IntegerField()
    pending = serializers.IntegerField()
    done = serializers.IntegerField()
    failed = serializers.IntegerField()
    skipped = serializers.IntegerField()
    undone = serializers.IntegerField()
    kept = serializers.IntegerField(help_text="Not undone, because somebody changed the agent since.")


class AgentBulkChangeRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    action = serializers.ChoiceField(choices=BULK_ACTIONS)
    state = serializers.ChoiceField(choices=BULK_STATES)
    selector = serializers.DictField()
    reason = serializers.CharField()
    drain_until = serializers.DateTimeField(allow_null=True)
    batch_size = serializers.IntegerField()
    pause_seconds = serializers.IntegerField()
    allow_last_agents = serializers.BooleanField()
    impact = BulkImpactRead(help_text="When it started.")
    counts = BulkCountsRead()
    problem = serializers.CharField(help_text="Why it stopped; otherwise empty.")
    can_cancel = serializers.BooleanField()
    can_undo = serializers.BooleanField()
    created_by = serializers.CharField()
    undone_by = serializers.CharField(help_text="Empty if nobody undid it.")
    created_at = serializers.DateTimeField()
    due_at = serializers.DateTimeField(allow_null=True, help_text="When the next agent changes.")
    finished_at = serializers.DateTimeField(allow_null=True)


class AgentBulkChangePage(serializers.Serializer[Any]):
    items = AgentBulkChangeRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class AgentBulkChangeItemRead(serializers.Serializer[Any]):
    agent_id = serializers.UUIDField()
    name = serializers.CharField()
    environment = serializers.CharField()
    state = serializers.ChoiceField(choices=BULK_ITEM_STATES)
    reason = serializers.CharField(help_text="Why it failed or was left as it is; otherwise empty.")
    changed_at = serializers.DateTimeField(allow_null=True)


class AgentBulkChangeItemPage(serializers.Serializer[Any]):
    items = AgentBulkChangeItemRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class BulkChangeListQuery(PageQuery):
    state = serializers.ChoiceField(choices=BULK_STATES, required=False, help_text="Only in this state.")
    action = serializers.ChoiceField(choices=BULK_ACTIONS, required=False, help_text="Only this action.")
    q = SearchField("reason", "problem", "created_by")
    sort = SortField(SortKeys.of("state", "action", created_at="id"), default="-created_at")


class BulkChangeItemQuery(PageQuery):
    state = serializers.ChoiceField(choices=BULK_ITEM_STATES, required=False, help_text="Only in this state.")


def search_query(selector: dict[str, Any]) -> dict[str, Any]:
    """Return the selector with the names of `search_agents`."""
    return {_RENAMED.get(name, name): value for name, value in selector.items()}


def show_bulk_change(row: AgentBulkChange) -> dict[str, Any]:
    counts = {name: getattr(row, name) for name in _COUNTS}
    pending = row.total - sum(counts.values())
    is_undoable = BulkAction(row.action) in UNDOABLE and row.state not in _UNDONE
    derived = {
        "counts": {"total": row.total, "pending": pending, **counts},
        "can_cancel": row.state == BulkState.RUNNING,
        "can_undo": is_undoable and (row.done > 0 or row.state == BulkState.RUNNING),
    }
    names: list[str] = [*AgentBulkChangeRead().fields]
    stored = {name: getattr(row, name) for name in names if name not in derived}
    return dict(AgentBulkChangeRead({**stored, **derived}).data)
