"""Resources, their assignments to agents, and the timeline of each. Rows only."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from controlplane.access.team_models import Team
from controlplane.database.scoped import ScopedQuerySet, legal_shape, segment_field
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.dispatch.lifecycle.records import Verdict
from registry.dispatch.lifecycle.states import AssignmentState, Goal, ResourceState


def of_caller(caller: Caller, action: Action, prefix: str = "") -> Q:
    """Match resources on which the caller may perform the action, by scope and by team.

    prefix: the path to the resource, such as "resource__".
    """
    allowed = Q(pk__in=[])
    for grant in caller.grants:
        if action in grant.actions:
            segments = {f"{prefix}{name}": value for name, value in grant.scope.segments.items() if value}
            team = {f"{prefix}team_id": grant.team.id} if grant.team else {}
            if not segments and not team:
                return Q()
            allowed |= Q(**segments, **team)
    return allowed


class ResourceQuerySet(ScopedQuerySet["ResourceRow"]):
    def of(self, caller: Caller, action: Action = Action.RESOURCE_READ) -> ResourceQuerySet:
        """Return the resources on which the caller may perform the action."""
        return self.filter(of_caller(caller, action))


class ResourceRow(models.Model):
    """A requested resource. `state` and `due_at` follow from the rest (records.py, timers.py)."""

    # Chosen by the client, or a UUID: as DCM's instance ids (dispatch.md A25).
    id = models.CharField(max_length=63, primary_key=True)
    service_type = models.CharField(max_length=63)
    spec: Any = models.JSONField()
    domain = segment_field()
    project = segment_field()
    workflow = segment_field()
    launch_plan = segment_field()
    # Only records of deleted resources go with their team: others keep it (agent_work.resources_of).
    team = models.ForeignKey(Team, null=True, on_delete=models.CASCADE, related_name="+", db_index=False)
    labels: Any = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))
    # Where it may be placed (placement/constraints.py).
    constraints: Any = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))
    goal = models.CharField(max_length=16, db_default=Goal.PRESENT.value)
    state = models.CharField(max_length=16, db_default=ResourceState.PENDING.value)
    state_since = models.DateTimeField(db_default=Now())
    reason = models.TextField(db_default="")
    # The agent of the wanted assignment, to search by; its name outlives it.
    agent_id = models.UUIDField(null=True)
    agent_name = models.CharField(max_length=255, db_default="")
    epoch = models.IntegerField(db_default=0)
    # The provider's last status and output.
    status = models.CharField(max_length=63, db_default="")
    output: Any = models.JSONField(null=True)
    placement_tries = models.IntegerField(db_default=0)
    placed_at = models.DateTimeField(null=True)
    # When its timers are next looked at; NULL: only an answer or a person changes it.
    due_at = models.DateTimeField(null=True)
    # When it first ran; NULL: it has not yet, or it did before this was noted.
    started_at = models.DateTimeField(null=True)
    deleted_at = models.DateTimeField(null=True)
    request_id = models.CharField(max_length=64, db_default="")
    created_by = models.CharField(max_length=63)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now())
    # Rises with each change; the ETag.
    version = models.IntegerField(db_default=1)

    objects = ResourceQuerySet.as_manager()

    class Meta:
        app_label = "registry"
        db_table = "registry_resource"
        constraints = [
            models.CheckConstraint(name="resource_scope_is_legal", condition=legal_shape()),
            models.CheckConstraint(
                name="resource_state_is_known",
                condition=Q(state__in=[member.value for member in ResourceState]),
            ),
            models.CheckConstraint(
                name="resource_goal_is_known", condition=Q(goal__in=[member.value for member in Goal])
            ),
        ]
        indexes = [
            models.Index(fields=["due_at"], name="resource_due", condition=Q(due_at__isnull=False)),
            models.Index(fields=["state", "id"], name="resource_by_state"),
            models.Index(fields=["service_type", "id"], name="resource_by_type"),
            models.Index(fields=["created_at", "id"], name="resource_by_creation"),
            models.Index(fields=["project", "domain", "id"], name="resource_by_scope"),
            models.Index(fields=["team", "id"], name="resource_by_team", condition=Q(team__isnull=False)),
            models.Index(
                fields=["agent_id", "id"], name="resource_by_agent", condition=Q(agent_id__isnull=False)
            ),
            GinIndex(fields=["labels"], opclasses=["jsonb_path_ops"], name="resource_by_label"),
        ]

    def __str__(self) -> str:
        return self.id


class AssignmentRow(models.Model):
    """One attempt at one agent (records.Assignment)."""

    id = models.BigAutoField(primary_key=True)
    resource = models.ForeignKey(ResourceRow, on_delete=models.CASCADE, related_name="assignments")
    epoch = models.IntegerField()
    # No foreign key: the record outlives its agent.
    agent_id = models.UUIDField()
    agent_name = models.CharField(max_length=255)
    topic = models.CharField(max_length=255)
    channel = models.CharField(max_length=8)
    state = models.CharField(max_length=16)
    since = models.DateTimeField()
    reason = models.TextField(db_default="")
    sent_at = models.DateTimeField(null=True)
    tries = models.IntegerField(db_default=0)
    proven = models.BooleanField(db_default=False)
    removed = models.BooleanField(db_default=False)
    status_at = models.DateTimeField(null=True)
    cancel_sent = models.BooleanField(db_default=False)
    cancel_answered = models.BooleanField(db_default=False)
    cancel_rejected = models.BooleanField(db_default=False)
    deletion_sent_at = models.DateTimeField(null=True)
    deletion_tries = models.IntegerField(db_default=0)
    deletion_accepted_at = models.DateTimeField(null=True)
    deletion_held = models.BooleanField(db_default=False)
    deletion_doubted = models.BooleanField(db_default=False)
    refusals = models.IntegerField(db_default=0)
    alarmed = models.BooleanField(db_default=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        app_label = "registry"
        db_table = "registry_assignment"
        constraints = [
            models.UniqueConstraint(fields=["resource", "epoch"], name="assignment_by_epoch"),
            # At most one assignment of a resource is wanted.
            models.UniqueConstraint(
                fields=["resource"],
                name="assignment_wanted_once",
                condition=Q(state__in=["pending", "queued", "provisioning", "running", "failed"]),
            ),
            models.CheckConstraint(
                name="assignment_state_is_known",
                condition=Q(state__in=[member.value for member in AssignmentState]),
            ),
        ]
        indexes = [
            # What an agent has: placement, its requests, whether it can be removed.
            models.Index(
                fields=["agent_id", "state"],
                name="assignment_of_agent",
                condition=~Q(state__in=["closed", "abandoned"]),
            ),
            models.Index(fields=["agent_name", "resource"], name="assignment_by_agent_name"),
        ]

    def __str__(self) -> str:
        return f"{self.resource_id}#{self.epoch} at {self.agent_name}"


class TimelineRow(models.Model):
    """A line of a resource's timeline: a message with its verdict, or a step of its own. Append-only."""

    id = models.BigAutoField(primary_key=True)
    resource = models.ForeignKey(
        ResourceRow, on_delete=models.CASCADE, related_name="timeline", db_index=False
    )
    epoch = models.IntegerField()
    at = models.DateTimeField(db_default=Now())
    what = models.CharField(max_length=63)
    verdict = models.CharField(max_length=16, choices=[(member.value, member.value) for member in Verdict])
    text = models.TextField(db_default="")
    event_id = models.CharField(max_length=255, db_default="")
    actor = models.CharField(max_length=63, db_default="")

    class Meta:
        app_label = "registry"
        db_table = "registry_resourcetimeline"
        indexes = [models.Index(fields=["resource", "id"], name="timeline_of_resource")]

    def __str__(self) -> str:
        return f"{self.resource_id}#{self.epoch} {self.what}: {self.verdict}"


class AgentMessaging(models.Model):
    """How an agent gets its requests, and what NATS says of its consumer."""

    agent = models.OneToOneField(
        "registry.Agent", on_delete=models.CASCADE, primary_key=True, related_name="messaging"
    )
    # "nats", or "https" once it has fetched requests by HTTPS.
    channel = models.CharField(max_length=8, db_default="nats")
    # When it last fetched requests by HTTPS.
    fetched_at = models.DateTimeField(null=True)
    has_consumer = models.BooleanField(db_default=False)
    # Whether it waited for requests when it was measured; NULL: not measured yet.
    is_listening = models.BooleanField(null=True)
    # Messages that it has not fetched, and those that it has not acknowledged.
    pending_count = models.BigIntegerField(db_default=0)
    unacknowledged_count = models.IntegerField(db_default=0)
    # Measured, with hysteresis; the lag that the agent reports is a hint.
    is_congested = models.BooleanField(db_default=False)
    checked_at = models.DateTimeField(null=True)
    # {service type: {"status", "reason", "provider", "until"}}, as the agent reported by `dcm.agents.health`.
    weak_types: Any = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))

    class Meta:
        app_label = "registry"

    def __str__(self) -> str:
        return f"messaging of {self.agent_id}"
