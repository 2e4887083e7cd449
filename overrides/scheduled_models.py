"""The table of scheduled changes: what to set at a time, and what to restore at another."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now

from controlplane.database.scoped import ScopedQuerySet, legal_shape, segment_field
from controlplane.ids import uuid7
from controlplane.scopes import Scope


class OverrideChange(models.Model):
    """A change of one override, applied at a time, and undone at another if it has one.

        attributes: after the change; NULL deletes. planned_version: the latest version when it was planned.
        before, before_owners, applied_version: what it replaced, and with which version. due_at: when
    something is to be done next; NULL for nothing. change_request_id: the change request that was
        published as this change. plan_digest: of the plan that was approved.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    resource_type = models.CharField(max_length=63)
    domain = segment_field()
    project = segment_field()
    workflow = segment_field()
    launch_plan = segment_field()
    attributes: Any = models.JSONField(null=True)
    at = models.DateTimeField()
    until = models.DateTimeField(null=True)
    state = models.CharField(max_length=16)
    planned_version = models.BigIntegerField()
    before: Any = models.JSONField(null=True)
    before_owners: Any = models.JSONField(default=dict)
    applied_version = models.BigIntegerField(null=True)
    due_at = models.DateTimeField(null=True)
    # Why it was refused, or what its revert waits for.
    problem = models.CharField(max_length=1000, blank=True, default="")
    message = models.CharField(max_length=400, blank=True, default="")
    author_id = models.UUIDField(null=True)
    created_by = models.CharField(max_length=63)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    applied_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    change_request_id = models.UUIDField(null=True)
    plan_digest = models.CharField(max_length=64, blank=True, default="", db_default="")

    objects = ScopedQuerySet["OverrideChange"].as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(name="override_change_has_legal_shape", condition=legal_shape()),
            models.UniqueConstraint(
                fields=["project", "domain", "workflow", "launch_plan", "resource_type"],
                condition=models.Q(due_at__isnull=False),
                name="override_has_one_pending_change",
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at"], name="override_change_due", condition=models.Q(due_at__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.resource_type} at {self.scope}"

    @property
    def scope(self) -> Scope:
        return Scope(self.domain, self.project, self.workflow, self.launch_plan)
