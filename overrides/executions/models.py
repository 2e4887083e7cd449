"""Executions of Flyte with their last phases. Rows only."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now

from controlplane.database.scoped import segment_field
from controlplane.ids import uuid7
from overrides.executions.phases import UNDEFINED


class FlyteExecution(models.Model):
    """An execution of a workflow. workflow: NULL before FlyteAdmin was asked.

    phase: the last one that was reported. occurred_at: of its event. updated_at: of the last event of it or
    of its nodes and tasks.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = segment_field()
    domain = segment_field()
    name = models.CharField(max_length=255)
    phase = models.CharField(max_length=32, db_default=UNDEFINED)
    occurred_at = models.DateTimeField(null=True)
    error_code = models.TextField(db_default="")
    workflow = models.CharField(max_length=255, null=True)
    # Flyte's identifier as JSON.
    launch_plan: Any = models.JSONField(null=True)
    principal = models.CharField(max_length=255, db_default="")
    labels: Any = models.JSONField(db_default=models.Value({}, models.JSONField()))
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "flyte_execution"
        constraints = [
            models.UniqueConstraint(fields=["project", "domain", "name"], name="flyte_execution_is_unique")
        ]
        indexes = [models.Index(fields=["updated_at"], name="flyte_execution_by_age")]

    def __str__(self) -> str:
        return f"{self.project}/{self.domain}/{self.name}"


class FlyteStep(models.Model):
    """The last phase of a node or of an attempt at a task. key: made of their ids, which can be long."""

    id = models.BigAutoField(primary_key=True)
    execution = models.ForeignKey(
        FlyteExecution, on_delete=models.CASCADE, related_name="steps", db_index=False
    )
    key = models.UUIDField()
    phase = models.CharField(max_length=32)
    phase_version = models.BigIntegerField(db_default=0)

    class Meta:
        db_table = "flyte_execution_step"
        constraints = [
            models.UniqueConstraint(fields=["execution", "key"], name="flyte_execution_step_is_unique")
        ]

    def __str__(self) -> str:
        return f"{self.execution_id} {self.key}: {self.phase}"
