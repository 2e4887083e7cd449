"""Tables of projects, domains, overrides, their history, resource types and guard rails."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models.functions import Now

from controlplane.database.scoped import ScopedQuerySet, legal_shape, segment_field
from controlplane.ids import uuid7
from controlplane.scopes import SEGMENTS, Scope
from overrides import approval_models, freeze_models, scheduled_models  # noqa: F401  (tables of this app)
from overrides.executions import models as execution_models  # noqa: F401  (tables of this app)
from overrides.files_actor import commit_of
from overrides.querysets import OverrideQuerySet, ProjectQuerySet, SpanQuerySet

# A Kubernetes label (RFC 1123): projects and domains become parts of namespaces.
MAX_LABEL_LENGTH = 63
_NO_OWNERS = models.Value({}, models.JSONField())


class Domain(models.Model):
    """An environment's name, shared by all projects: development, staging, production."""

    id = models.CharField(primary_key=True, max_length=MAX_LABEL_LENGTH)
    name = models.CharField(max_length=64)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    def __str__(self) -> str:
        return self.id


class ProjectState(models.IntegerChoices):
    """The state of a project, with the numbers of Flyte's enum Project.ProjectState."""

    ACTIVE = 0, "active"
    ARCHIVED = 1, "archived"
    SYSTEM_GENERATED = 2, "system_generated"
    SYSTEM_ARCHIVED = 3, "system_archived"


class Project(models.Model):
    """A team's or product's project. Every project has every domain."""

    id = models.CharField(primary_key=True, max_length=MAX_LABEL_LENGTH)
    name = models.CharField(max_length=64)
    description = models.CharField(max_length=300, blank=True, default="")
    # NULL if never set: Flyte distinguishes that from an empty map.
    labels: Any = models.JSONField(null=True)
    state = models.SmallIntegerField(
        choices=ProjectState.choices, default=ProjectState.ACTIVE, db_default=ProjectState.ACTIVE
    )
    version = models.IntegerField(default=1, db_default=1)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now())

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
    # The managers of each leaf: see field_managers.py.
    owners: Any = models.JSONField(default=dict, db_default=_NO_OWNERS)
    # With OVERRIDES_SOURCE=file: "teams/ml.yaml:12".
    declared_in = models.CharField(max_length=300, blank=True, default="", db_default="")
    version = models.BigIntegerField()
    revision = models.BigIntegerField()
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    changed_at = models.DateTimeField(db_default=Now())
    changed_by = models.CharField(max_length=63)
    change_message = models.CharField(max_length=500, blank=True, default="")

    objects = OverrideQuerySet["Override"].as_manager()

    class Meta:
        constraints = [
            # Project first: it is the most selective column, and most reads filter by it.
            models.UniqueConstraint(
                fields=["project", "domain", "workflow", "launch_plan", "resource_type"],
                name="override_is_unique",
            ),
            models.CheckConstraint(name="override_has_legal_shape", condition=legal_shape()),
        ]
        indexes = [
            models.Index(fields=["resource_type", *SEGMENTS], name="override_by_type"),
            GinIndex(fields=["attributes"], opclasses=["jsonb_path_ops"], name="override_by_value"),
        ]

    def __str__(self) -> str:
        return f"{self.resource_type} at {self.scope}"

    @property
    def scope(self) -> Scope:
        return Scope(self.domain, self.project, self.workflow, self.launch_plan)


class OverrideVersion(models.Model):
    """The state of an override after each change; `attributes` is NULL after a deletion.

    Versions of one address keep rising across deletions, so that an old ETag never matches a new row.
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
    owners: Any = models.JSONField(default=dict, db_default=_NO_OWNERS)
    declared_in = models.CharField(max_length=300, blank=True, default="", db_default="")
    # The id of the override's row, so that past reads return the id of that time.
    override_id = models.UUIDField(null=True)
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

    @property
    def commit(self) -> str:
        return commit_of(self.changed_by, self.change_message)

    @property
    def scope(self) -> Scope:
        return Scope(self.domain, self.project, self.workflow, self.launch_plan)


class RevisionCounter(models.Model):
    """A single row. Every transaction that changes overrides takes its revision number from it."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    revision = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.CheckConstraint(name="revision_counter_is_one_row", condition=models.Q(id=1))]

    def __str__(self) -> str:
        return str(self.revision)


class Revision(models.Model):
    """One transaction that changed effective values: who, when, why, and how much.

    everything: the change is not limited to single scopes (a resource type, a guard rail), so that caches
    must drop all their entries. has_quota: when it was taken, whether override documents had a quota.
    """

    has_quota = False
    revision = models.BigIntegerField(primary_key=True)
    # Set under the counter's lock, so that times rise with revisions.
    made_at = models.DateTimeField(db_index=True)
    made_by = models.CharField(max_length=63)
    change_message = models.CharField(max_length=500, blank=True, default="")
    # Id or address of the task that the change belongs to. Empty if nobody named one.
    ticket = models.CharField(max_length=200, blank=True, default="", db_default="")
    request_id = models.CharField(max_length=64, blank=True, default="")
    changes = models.IntegerField(default=0)
    everything = models.BooleanField(default=False)

    def __str__(self) -> str:
        return str(self.revision)


class ScopeHead(models.Model):
    """The last revision that changed anything at a scope: identifies stale cached reads."""

    id = models.BigAutoField(primary_key=True)
    domain = segment_field()
    project = segment_field()
    workflow = segment_field()
    launch_plan = segment_field()
    revision = models.BigIntegerField(db_index=True)

    objects = ScopedQuerySet["ScopeHead"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "domain", "workflow", "launch_plan"], name="scope_head_is_unique"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.scope} r{self.revision}"

    @property
    def scope(self) -> Scope:
        return Scope(self.domain, self.project, self.workflow, self.launch_plan)


class TypeDefinition(models.Model):
    """An operator's resource type, from one revision to another; the current one has no end."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=63)
    definition: Any = models.JSONField()
    version = models.IntegerField()
    since_revision = models.BigIntegerField()
    until_revision = models.BigIntegerField(null=True)
    changed_at = models.DateTimeField()
    changed_by = models.CharField(max_length=63)

    objects = SpanQuerySet["TypeDefinition"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["name"],
                condition=models.Q(until_revision__isnull=True),
                name="type_definition_is_unique",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"


class GuardRailRow(models.Model):
    """A guard rail (rails.py), from one revision to another; the current one has no end."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=63)
    domain = segment_field()
    project = segment_field()
    workflow = segment_field()
    launch_plan = segment_field()
    resource_type = models.CharField(max_length=63)
    pointer = models.CharField(max_length=1000)
    rule: Any = models.JSONField()
    reason = models.CharField(max_length=500, blank=True, default="")
    version = models.IntegerField()
    since_revision = models.BigIntegerField()
    until_revision = models.BigIntegerField(null=True)
    changed_at = models.DateTimeField()
    changed_by = models.CharField(max_length=63)

    objects = SpanQuerySet["GuardRailRow"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["name"], condition=models.Q(until_revision__isnull=True), name="guard_rail_is_unique"
            ),
            models.CheckConstraint(name="guard_rail_has_legal_shape", condition=legal_shape()),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def scope(self) -> Scope:
        return Scope(self.domain, self.project, self.workflow, self.launch_plan)


class SourceState(models.Model):
    """A single row: the state of the folder that overrides are loaded from (file_source)."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    state = models.CharField(max_length=32)
    digest = models.CharField(max_length=64, blank=True, default="")
    confirmed_digest = models.CharField(max_length=64, blank=True, default="")
    report: Any = models.JSONField(default=dict)
    revision = models.BigIntegerField(default=0)
    checked_at = models.DateTimeField(null=True)
    loaded_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.CheckConstraint(name="source_state_is_one_row", condition=models.Q(id=1))]

    def __str__(self) -> str:
        return self.state
