"""The tables of approval policies, and of change requests with their approvals and comments."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now

from controlplane.database.scoped import ScopedQuerySet, legal_shape, segment_field
from controlplane.formats.counts import counted
from controlplane.ids import uuid7
from controlplane.scopes import SEGMENTS, Scope


class ApprovalPolicy(models.Model):
    """How many approvals changes of overrides at and below the scope need."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    domain = segment_field()
    project = segment_field()
    workflow = segment_field()
    launch_plan = segment_field()
    approvals = models.SmallIntegerField()
    reason = models.CharField(max_length=500, blank=True, default="")
    version = models.IntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    created_by = models.CharField(max_length=63)

    objects = ScopedQuerySet["ApprovalPolicy"].as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(name="approval_policy_has_legal_shape", condition=legal_shape()),
            models.CheckConstraint(
                name="approval_policy_needs_one_to_five",
                condition=models.Q(approvals__gte=1, approvals__lte=5),
            ),
            models.UniqueConstraint(fields=list(SEGMENTS), name="scope_has_one_approval_policy"),
        ]

    def __str__(self) -> str:
        return f"{counted(self.approvals, 'approval')} at {self.scope}"

    @property
    def scope(self) -> Scope:
        return Scope(self.domain, self.project, self.workflow, self.launch_plan)


class ChangeRequest(models.Model):
    """A change of one override that others approve before it is published.

    way, document: what was requested. attributes: after the change; NULL deletes. planned_version, plan,
    digest: of the plan that is to be approved. people: ids of the author and of who stands behind the
    author. scheduled_change_id: of the change that it was published as, if it was published for a later time.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    resource_type = models.CharField(max_length=63)
    domain = segment_field()
    project = segment_field()
    workflow = segment_field()
    launch_plan = segment_field()
    way = models.CharField(max_length=16)
    document: Any = models.JSONField(null=True)
    attributes: Any = models.JSONField(null=True)
    planned_version = models.BigIntegerField()
    plan: Any = models.JSONField()
    digest = models.CharField(max_length=64)
    state = models.CharField(max_length=16)
    message = models.CharField(max_length=400, blank=True, default="")
    ticket = models.CharField(max_length=200, blank=True, default="")
    author_id = models.UUIDField(null=True)
    created_by = models.CharField(max_length=63)
    people: Any = models.JSONField(default=list)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    planned_at = models.DateTimeField(db_default=Now())
    closed_at = models.DateTimeField(null=True)
    closed_by = models.CharField(max_length=63, blank=True, default="")
    revision = models.BigIntegerField(null=True)
    scheduled_change_id = models.UUIDField(null=True)

    objects = ScopedQuerySet["ChangeRequest"].as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(name="change_request_has_legal_shape", condition=legal_shape()),
        ]
        indexes = [
            models.Index(fields=["state", "id"], name="change_request_by_state"),
            models.Index(fields=["author_id", "id"], name="change_request_by_author"),
        ]

    def __str__(self) -> str:
        return f"{self.resource_type} at {self.scope}"

    @property
    def scope(self) -> Scope:
        return Scope(self.domain, self.project, self.workflow, self.launch_plan)


class ChangeRequestApproval(models.Model):
    """An approval of the plan with this digest. people: as of the change request, of the reviewer."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    change_request = models.ForeignKey(ChangeRequest, on_delete=models.CASCADE, related_name="approvals")
    reviewer_id = models.UUIDField()
    reviewer = models.CharField(max_length=63)
    people: Any = models.JSONField(default=list)
    digest = models.CharField(max_length=64)
    comment = models.CharField(max_length=2000, blank=True, default="")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["change_request", "reviewer_id"], name="reviewer_approves_change_request_once"
            ),
        ]

    def __str__(self) -> str:
        return f"approval by {self.reviewer}"


class ChangeRequestComment(models.Model):
    """A comment on a change request."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    change_request = models.ForeignKey(ChangeRequest, on_delete=models.CASCADE, related_name="comments")
    author = models.CharField(max_length=63)
    text = models.CharField(max_length=2000)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    def __str__(self) -> str:
        return f"comment by {self.author}"
