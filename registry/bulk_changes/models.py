"""Tables of bulk changes: one row for the change, and one for each agent that it changes."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now

from controlplane.database.owned import OwnedQuerySet
from controlplane.formats.counts import counted
from controlplane.identity.roles import Action
from controlplane.ids import uuid7


class BulkChangeQuerySet(OwnedQuerySet["AgentBulkChange"]):
    read_action = Action.AGENT_READ


class BulkChangeItemQuerySet(OwnedQuerySet["AgentBulkChangeItem"]):
    read_action = Action.AGENT_READ


class AgentBulkChange(models.Model):
    """One change of many agents.

    team_id: of all its agents; NULL if they belong to several owners, or to the platform. author_id,
    author_scopes: whose rights are checked for each agent, with the ceiling of the token in use. due_at:
    when the next agent is changed; NULL if nothing is left to do. left_in_batch: agents before the next
    pause.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    action = models.CharField(max_length=16)
    state = models.CharField(max_length=16)
    selector: Any = models.JSONField(default=dict)
    reason = models.CharField(max_length=255)
    drain_until = models.DateTimeField(null=True)
    batch_size = models.IntegerField()
    pause_seconds = models.IntegerField()
    allow_last_agents = models.BooleanField(default=False)
    impact: Any = models.JSONField(default=dict)
    problem = models.CharField(max_length=1000, blank=True, default="")
    total = models.IntegerField(default=0)
    done = models.IntegerField(default=0)
    failed = models.IntegerField(default=0)
    skipped = models.IntegerField(default=0)
    undone = models.IntegerField(default=0)
    kept = models.IntegerField(default=0)
    left_in_batch = models.IntegerField(default=0)
    due_at = models.DateTimeField(null=True)
    team_id = models.UUIDField(null=True)
    author_id = models.UUIDField(null=True)
    author_scopes: Any = models.JSONField(null=True)
    created_by = models.CharField(max_length=63)
    # Whose rights count for the undo; empty before.
    undone_by = models.CharField(max_length=63, blank=True, default="")
    request_id = models.CharField(max_length=128, blank=True, default="")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    finished_at = models.DateTimeField(null=True)

    objects = BulkChangeQuerySet.as_manager()

    class Meta:
        app_label = "registry"
        indexes = [
            models.Index(fields=["due_at"], name="bulk_change_due", condition=models.Q(due_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.action} {counted(self.total, 'agent')}"


class AgentBulkChangeItem(models.Model):
    """One agent of a bulk change. before, after: its drain around the change. attempts: that failed."""

    id = models.BigAutoField(primary_key=True)
    bulk_change = models.ForeignKey(AgentBulkChange, on_delete=models.CASCADE, related_name="items")
    # No foreign key: the row outlives the agent.
    agent_id = models.UUIDField()
    name = models.CharField(max_length=255)
    environment = models.CharField(max_length=255)
    team_id = models.UUIDField(null=True)
    state = models.CharField(max_length=16)
    reason = models.CharField(max_length=500, blank=True, default="", db_default="")
    before: Any = models.JSONField(null=True)
    after: Any = models.JSONField(null=True)
    attempts = models.SmallIntegerField(default=0, db_default=0)
    changed_at = models.DateTimeField(null=True)

    objects = BulkChangeItemQuerySet.as_manager()

    class Meta:
        app_label = "registry"
        constraints = [
            models.UniqueConstraint(fields=["bulk_change", "agent_id"], name="bulk_change_has_agent_once")
        ]
        indexes = [models.Index(fields=["bulk_change", "state", "id"], name="bulk_change_item_by_state")]

    def __str__(self) -> str:
        return f"{self.name}: {self.state}"
