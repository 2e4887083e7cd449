"""API schemas of stored jobs, their variables, secrets and runs."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.api.endpoints import ReasonedQuery
from controlplane.api.fields import Instant, Query, StrictSerializer, Text
from controlplane.api.pages import PageQuery
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from registry.api.jobs.schemas import (
    INSTANCE_TYPES,
    MOST_CHARACTERS,
    JobDiagnosticRead,
    JobDocumentWrite,
    JobFileRead,
    JobUnsubstitutedRead,
    show_findings,
    show_run_input,
)
from registry.jobs.models import Job, JobRun, JobSecret, JobVariables
from registry.jobs.run_input import InstanceType
from registry.jobs.stored_jobs import Checked
from registry.jobs.stored_run_input import StoredRunInput
from registry.plugins.documents.diagnostics import Severity

_MOST_SECRET = 64 * 1024
_NAMESPACE_HELP = "Within the project; if omitted, what holds for all namespaces of the project."


class NamespaceQuery(Query):
    namespace = Text(required=False, default="", allow_blank=True, max_length=63, help_text=_NAMESPACE_HELP)


class NamespaceChangeQuery(ReasonedQuery):
    namespace = Text(required=False, default="", allow_blank=True, max_length=63, help_text=_NAMESPACE_HELP)


_SORT_KEYS = SortKeys(
    {
        **{name: (name,) for name in ("name", "namespace", "changed_at", "changed_by")},
        "project": ("project_id",),
    },
    tie_break=("project_id", "name"),
)


class JobListQuery(PageQuery):
    project = Text(
        required=False, max_length=63, help_text="Of one project. If omitted: all that you may read."
    )
    plugin = Text(required=False, max_length=63, help_text="Whose task or hook is this plugin.")
    q = SearchField("name", "namespace", "changed_by", project="project__id")
    sort = SortField(_SORT_KEYS, default="project,name")


class JobWrite(JobDocumentWrite):
    assets = serializers.DictField(
        child=serializers.CharField(allow_blank=True, trim_whitespace=False, max_length=MOST_CHARACTERS),
        required=False,
        default=dict,
        help_text="The job's files by name, at most 256 KiB together.",
    )
    namespace = Text(required=False, default="", allow_blank=True, max_length=63)
    team = Text(
        required=False,
        default="",
        allow_blank=True,
        max_length=63,
        help_text="Whose plugins the job uses before those of the platform.",
    )


class JobSummary(serializers.Serializer[Any]):
    project = serializers.CharField()
    name = serializers.CharField()
    namespace = serializers.CharField()
    team = serializers.CharField(allow_null=True, help_text="Whose plugins it uses; null for the platform's.")
    owner = serializers.CharField()
    task = serializers.CharField(help_text="The plugin of its task.")
    hooks = serializers.ListField(child=serializers.CharField())
    version = serializers.IntegerField()
    changed_at = serializers.DateTimeField()
    changed_by = serializers.CharField()


class JobRead(JobSummary):
    text = serializers.CharField()
    assets = serializers.DictField(child=serializers.CharField())
    sensitive_assets = serializers.ListField(
        child=serializers.CharField(), help_text="Files whose templates can read a secret."
    )


class JobWritten(JobRead):
    warnings = JobDiagnosticRead(many=True)


class JobPage(serializers.Serializer[Any]):
    items = JobSummary(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class JobVariablesWrite(StrictSerializer):
    variables = serializers.DictField(
        child=serializers.CharField(allow_blank=True, trim_whitespace=False, max_length=8192),
        help_text="Templates read them as `.proj.NAME`. They are no secrets.",
    )


class JobVariablesRead(serializers.Serializer[Any]):
    project = serializers.CharField()
    namespace = serializers.CharField()
    variables = serializers.DictField(child=serializers.CharField())
    version = serializers.IntegerField(help_text="0 if they were never written.")


# Names of secrets are unique in a namespace of a project.
_SECRET_SORT_KEYS = SortKeys(
    {name: (name,) for name in ("name", "namespace", "changed_at")}, tie_break=("namespace", "name")
)


class JobSecretListQuery(PageQuery):
    q = SearchField("name", "namespace")
    sort = SortField(_SECRET_SORT_KEYS, default="namespace,name")


class JobSecretWrite(StrictSerializer):
    value = serializers.CharField(
        max_length=_MOST_SECRET,
        trim_whitespace=False,
        write_only=True,
        help_text="Sealed, and in the input of runs alone. Templates read it as `.secret.NAME`.",
    )


class JobSecretRead(serializers.Serializer[Any]):
    project = serializers.CharField()
    namespace = serializers.CharField()
    name = serializers.CharField()
    version = serializers.IntegerField()
    changed_at = serializers.DateTimeField()
    changed_by = serializers.CharField()


class JobSecretPage(serializers.Serializer[Any]):
    items = JobSecretRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class JobRunWrite(StrictSerializer):
    scheduled_at = Instant(help_text="One run of a job for each time.")
    external_id = Text(
        required=False,
        default="",
        allow_blank=True,
        max_length=250,
        help_text="The scheduler's name of the run, such as Airflow's DAG run id.",
    )
    overrides = serializers.DictField(
        child=serializers.CharField(allow_blank=True, trim_whitespace=False, max_length=8192),
        required=False,
        default=dict,
        help_text="Settings of the task that a replay replaces.",
    )


class JobRunRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    external_id = serializers.CharField()
    scheduled_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField()
    overrides = serializers.DictField(child=serializers.CharField())
    releases = serializers.DictField(
        child=serializers.CharField(), help_text="Release by plugin, from the first input on."
    )
    created_by = serializers.CharField()


class JobRunPage(serializers.Serializer[Any]):
    items = JobRunRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class RunInputWrite(StrictSerializer):
    run_id = serializers.UUIDField(required=False, help_text="One of run_id, dag_run_id and scheduled_at.")
    dag_run_id = Text(required=False, default="", allow_blank=True, max_length=250)
    scheduled_at = Instant(required=False)
    instance_type = serializers.ChoiceField(INSTANCE_TYPES, required=False, default=InstanceType.TASK.value)
    instance_name = Text(
        required=False, default="", allow_blank=True, max_length=220, help_text="Omitted: the task."
    )


class RunReleaseRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    number = serializers.IntegerField()
    team = serializers.CharField(allow_null=True)


class RunInputRead(serializers.Serializer[Any]):
    run = JobRunRead()
    release = RunReleaseRead(help_text="The release of plugins that the run uses.")
    image = serializers.CharField()
    init_image = serializers.CharField(help_text="Empty for the server's default.")
    shell = serializers.CharField()
    script = serializers.CharField()
    envs = serializers.DictField(child=serializers.CharField())
    secrets = serializers.DictField(child=serializers.CharField())
    files = serializers.DictField(child=JobFileRead())
    unsubstituted = JobUnsubstitutedRead(
        many=True, help_text="Values with `<no value>`, with which an executor does not start."
    )


def show_summary(job: Job) -> dict[str, Any]:
    return {
        "project": job.project_id,
        "name": job.name,
        "namespace": job.namespace,
        "team": job.plugin_team.slug if job.plugin_team else None,
        "owner": job.spec["owner"],
        "task": job.spec["task"]["name"],
        "hooks": [hook["name"] for hook in job.spec["hooks"]],
        "version": job.version,
        "changed_at": job.changed_at,
        "changed_by": job.changed_by,
    }


def show_job(job: Job) -> dict[str, Any]:
    return {
        **show_summary(job),
        "text": job.text,
        "assets": job.assets,
        "sensitive_assets": job.sensitive_assets,
    }


def show_written(job: Job, checked: Checked) -> dict[str, Any]:
    return {**show_job(job), "warnings": show_findings(Severity.WARNING, checked.warnings)}


def show_variables(row: JobVariables) -> dict[str, Any]:
    return {
        "project": row.project_id,
        "namespace": row.namespace,
        "variables": row.variables,
        "version": row.version,
    }


def show_secret(row: JobSecret) -> dict[str, Any]:
    return {
        "project": row.project_id,
        "namespace": row.namespace,
        "name": row.name,
        "version": row.version,
        "changed_at": row.changed_at,
        "changed_by": row.changed_by,
    }


def show_run(run: JobRun) -> dict[str, Any]:
    return {
        "id": run.id,
        "external_id": run.external_id,
        "scheduled_at": run.scheduled_at,
        "started_at": run.started_at,
        "overrides": run.overrides,
        "releases": run.releases,
        "created_by": run.created_by,
    }


def show_stored_input(found: StoredRunInput) -> dict[str, Any]:
    release, executor = found.plugin.release, found.plugin.executor
    team = release.plugin_set.team
    return {
        "run": show_run(found.run),
        "release": {"id": release.id, "number": release.number, "team": team.slug if team else None},
        "image": executor.image,
        "init_image": executor.init_image,
        "shell": executor.entrypoint.shell,
        "script": executor.entrypoint.script,
        **show_run_input(found.input),
    }
