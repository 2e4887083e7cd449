"""Projects, domains, overrides and their versions. Rows only: rules live in the modules beside this file."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now

from controlplane.ids import uuid7
from controlplane.scoped_rows import legal_shape, segment_field
from controlplane.scopes import SEGMENTS, Scope
from overrides.querysets import OverrideQuerySet, ProjectQuerySet

# A Kubernetes label (RFC 1123): projects and domains become parts of namespaces.
MAX_LABEL_LENGTH = 63


class Domain(models.Model):
    """An environment's name, shared by all projects: development, staging, production."""

    id = models.CharField(primary_key=True, max_length=MAX_LABEL_LENGTH)
    name = models.CharField(max_length=64)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    def __str__(self) -> str:
        return self.id


class Project(models.Model):
    """What belongs to one team or product. Every project has every domain."""

    id = models.CharField(primary_key=True, max_length=MAX_LABEL_LENGTH)
    name = models.CharField(max_length=64)
    description = models.CharField(max_length=300, blank=True, default="")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = ProjectQuerySet.as_manager()

    def __str__(self) -> str:
        return self.id


class Override(models.Model):
    """Attributes of one resource type, set at one scope."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    resource_type = models.CharField(max_length=63)
    domain = segment_field()
    project = segment_field()
    workflow = segment_field()
    launch_plan = segment_field()
    attributes: Any = models.JSONField()
    version = models.BigIntegerField()
    revision = models.BigIntegerField()
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    changed_at = models.DateTimeField(db_default=Now())
    changed_by = models.CharField(max_length=63)
    change_message = models.CharField(max_length=500, blank=True, default="")

    objects = OverrideQuerySet["Override"].as_manager()

    class Meta:
        constraints = [
            # Project first: it tells rows apart best, and reads name it most.
            models.UniqueConstraint(
                fields=["project", "domain", "workflow", "launch_plan", "resource_type"],
                name="override_is_unique",
            ),
            models.CheckConstraint(name="override_has_legal_shape", condition=legal_shape()),
        ]
        indexes = [
            models.Index(fields=["resource_type", *SEGMENTS], name="override_by_type"),
        ]

    def __str__(self) -> str:
        return f"{self.resource_type} at {self.scope}"

    @property
    def scope(self) -> Scope:
        return Scope(self.domain, self.project, self.workflow, self.launch_plan)


class OverrideVersion(models.Model):
    """What an override was after each change; `attributes` is empty (NULL) after a deletion.

    Versions of one address go on rising over deletions, so that an old ETag can never match a new row.
    """

    id = models.BigAutoField(primary_key=True)
    resource_type = models.CharField(max_length=63)
    domain = segment_field()
    project = segment_field()
    workflow = segment_field()
    launch_plan = segment_field()
    version = models.BigIntegerField()
    revision = models.BigIntegerField(db_index=True)
    attributes: Any = models.JSONField(null=True)
    changed_at = models.DateTimeField(db_default=Now(), editable=False)
    changed_by = models.CharField(max_length=63)
    change_message = models.CharField(max_length=500, blank=True, default="")
    request_id = models.CharField(max_length=64, blank=True, default="")

    objects = OverrideQuerySet["OverrideVersion"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "domain", "workflow", "launch_plan", "resource_type", "version"],
                name="override_version_is_unique",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.resource_type} v{self.version}"


class RevisionCounter(models.Model):
    """One row. Every transaction that changes overrides takes one number from it (see editing.py)."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    revision = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.CheckConstraint(name="revision_counter_is_one_row", condition=models.Q(id=1))]

    def __str__(self) -> str:
        return str(self.revision)
