"""The table of freezes: times in which overrides at and below a scope may not change."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from controlplane.database.scoped import ScopedQuerySet, legal_shape, segment_field
from controlplane.ids import uuid7
from controlplane.scopes import Scope


class OverrideFreeze(models.Model):
    """A freeze, by the database's clock. ended_at: when somebody ended it before its time."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    domain = segment_field()
    project = segment_field()
    workflow = segment_field()
    launch_plan = segment_field()
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField(db_index=True)
    reason = models.CharField(max_length=500)
    version = models.IntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    created_by = models.CharField(max_length=63)
    ended_at = models.DateTimeField(null=True)
    ended_by = models.CharField(max_length=63, blank=True, default="")

    objects = ScopedQuerySet["OverrideFreeze"].as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(name="override_freeze_has_legal_shape", condition=legal_shape()),
            models.CheckConstraint(
                name="override_freeze_ends_after_it_starts",
                condition=models.Q(ends_at__gt=models.F("starts_at")),
            ),
        ]

    def __str__(self) -> str:
        return f"freeze of {self.scope}"

    @property
    def scope(self) -> Scope:
        return Scope(self.domain, self.project, self.workflow, self.launch_plan)
