"""Tables of jobs: documents with their files, variables, secrets and runs. Rows only."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now

from controlplane.access.secrets.sealed_columns import register_sealed_column
from controlplane.access.team_models import Team
from controlplane.ids import uuid7

NAME_LENGTH = 63
JOB_NAME_LENGTH = 220


class Job(models.Model):
    """A job of a project. text: as written; spec: the parsed document; assets: file name to template."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey("overrides.Project", on_delete=models.PROTECT, related_name="+")
    # Optimus' namespace within the project: a label here, which selects variables and secrets.
    namespace = models.CharField(max_length=NAME_LENGTH, blank=True, default="")
    name = models.CharField(max_length=JOB_NAME_LENGTH)
    # Whose plugins it uses before those of the platform; NULL: those of the platform alone.
    plugin_team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="+")
    text = models.TextField()
    spec: Any = models.JSONField()
    assets: Any = models.JSONField(default=dict)
    # Names of files whose templates can read a secret.
    sensitive_assets: Any = models.JSONField(default=list)
    version = models.IntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    changed_at = models.DateTimeField(db_default=Now())
    changed_by = models.CharField(max_length=63)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="job_name_is_unique")]

    def __str__(self) -> str:
        return f"{self.project_id}/{self.name}"


class JobStep(models.Model):
    """A plugin that a job uses, as its task or as a hook: answers which jobs use a plugin."""

    id = models.BigAutoField(primary_key=True)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="steps")
    instance_type = models.CharField(max_length=4)
    plugin = models.CharField(max_length=NAME_LENGTH)
    version = models.CharField(max_length=128, blank=True, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "instance_type", "plugin"], name="job_step_is_unique")
        ]
        indexes = [models.Index(fields=["plugin", "job"], name="job_step_by_plugin")]

    def __str__(self) -> str:
        return f"{self.instance_type} {self.plugin} of {self.job_id}"


class JobVariables(models.Model):
    """Variables of a project, or of a namespace in it. They are no secrets."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey("overrides.Project", on_delete=models.PROTECT, related_name="+")
    namespace = models.CharField(max_length=NAME_LENGTH, blank=True, default="")
    variables: Any = models.JSONField(default=dict)
    version = models.IntegerField(default=1)
    changed_at = models.DateTimeField(db_default=Now())
    changed_by = models.CharField(max_length=63)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "namespace"], name="job_variables_are_unique")
        ]

    def __str__(self) -> str:
        return f"{self.project_id}/{self.namespace}"


class JobSecret(models.Model):
    """A secret of a project, or of a namespace in it. Its value never leaves but in the input of a run."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey("overrides.Project", on_delete=models.PROTECT, related_name="+")
    namespace = models.CharField(max_length=NAME_LENGTH, blank=True, default="")
    name = models.CharField(max_length=NAME_LENGTH)
    sealed = models.TextField()
    version = models.IntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    changed_at = models.DateTimeField(db_default=Now())
    changed_by = models.CharField(max_length=63)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "namespace", "name"], name="job_secret_is_unique")
        ]

    def __str__(self) -> str:
        return f"{self.project_id}/{self.namespace}/{self.name}"

    @property
    def context(self) -> str:
        return f"job_secret/{self.id}"


register_sealed_column("registry.JobSecret", "sealed", lambda row: row.context)


class JobRun(models.Model):
    """A run of a job: for which time, since when, and with which releases of plugins.

    releases, artifacts: by plugin, the ids of what its first input used, so that its init container and
    executor agree while another release becomes active, or a late archive arrives. overrides: a replay's
    settings of the task.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="runs")
    # The scheduler's own name of the run, such as Airflow's DAG run id.
    external_id = models.CharField(max_length=250, blank=True, default="")
    scheduled_at = models.DateTimeField()
    started_at = models.DateTimeField(db_default=Now())
    overrides: Any = models.JSONField(default=dict)
    releases: Any = models.JSONField(default=dict)
    artifacts: Any = models.JSONField(default=dict)
    created_by = models.CharField(max_length=63)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["job", "external_id"],
                name="job_run_name_is_unique",
                condition=~models.Q(external_id=""),
            ),
            models.UniqueConstraint(fields=["job", "scheduled_at"], name="job_run_time_is_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.job} at {self.scheduled_at:%Y-%m-%dT%H:%M}"
