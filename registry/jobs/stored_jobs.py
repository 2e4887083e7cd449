"""Stored jobs: looked up for a caller, written and deleted. Each change is one transaction with its event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from controlplane.access import audit
from controlplane.access.team_models import Team
from controlplane.errors import FieldError, InvalidRequest, UnknownJob
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.preconditions import Precondition, check
from controlplane.scopes import Scope
from registry.jobs import event_types
from registry.jobs.asset_checks import AssetFindings, check_assets
from registry.jobs.documents import read_job
from registry.jobs.job_spec import JobSpec
from registry.jobs.models import Job, JobStep
from registry.jobs.projects import require_project
from registry.jobs.run_input import InstanceType


@dataclass(frozen=True, slots=True)
class JobTerms:
    """What people write of a job. plugin_team: whose plugins it uses before those of the platform."""

    text: str
    assets: Mapping[str, str] = field(default_factory=dict)
    namespace: str = ""
    plugin_team: Team | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """A valid job. warnings: of its document and its files."""

    spec: JobSpec
    assets: AssetFindings
    warnings: tuple[FieldError, ...]


def visible_jobs(caller: Caller) -> QuerySet[Job]:
    """Return the jobs of the projects that the caller may read."""
    projects = {scope.project for scope in caller.scopes_for(Action.JOB_READ) if not scope.domain}
    rows = Job.objects.select_related("plugin_team")
    return rows if "" in projects else rows.filter(project__in=projects)


def get_job(caller: Caller, project: str, name: str, action: Action = Action.JOB_READ) -> Job:
    """Return a job on which the caller may perform the action. Raises UnknownJob, PermissionDenied."""
    caller.require(action, Scope(project=project))
    job = Job.objects.select_related("plugin_team").filter(project=project, name=name).first()
    if job is None:
        raise UnknownJob(
            f"The project {project} has no job {name[:80]!r}. `GET /api/v1/jobs` lists the jobs."
        )
    return job


def check_job(terms: JobTerms, name: str) -> Checked:
    """Return the job that a document defines. Raises InvalidRequest with every error."""
    document = read_job(terms.text)
    assets = check_assets(terms.assets)
    problems = [*(_in_document(error) for error in document.errors), *assets.errors]
    if document.job is not None and document.job.name != name:
        message = (
            f"The document is of the job {document.job.name[:80]!r}, but the address says {name[:80]!r}."
        )
        problems.append(FieldError("/text", "name_differs", message, "Make both the same."))
    if problems or document.job is None:
        raise InvalidRequest("The job is invalid; nothing was stored.", errors=problems)
    warnings = (*(_in_document(warning) for warning in document.warnings), *assets.warnings)
    return Checked(document.job, assets, warnings)


@transaction.atomic
def put_job(
    project: str, name: str, terms: JobTerms, *, precondition: Precondition | None, actor: Actor
) -> tuple[Job, Checked]:
    """Create or replace a job. Raises InvalidRequest, UnknownProject, VersionMismatch, VersionRequired."""
    checked = check_job(terms, name)
    require_project(project)
    job = Job.objects.select_for_update().filter(project=project, name=name).first()
    check(precondition, job.version if job else None)
    before = snapshot(job) if job else None
    job = job or Job(project_id=project, name=name, version=0)
    job.text, job.spec, job.namespace = terms.text, asdict(checked.spec), terms.namespace
    job.assets, job.sensitive_assets = dict(terms.assets), sorted(checked.assets.sensitive)
    job.plugin_team = terms.plugin_team
    job.version += 1
    job.changed_by, job.changed_at = actor.name, Now()
    job.save()
    job.refresh_from_db()
    _replace_steps(job, checked.spec)
    _record(event_types.JOB_CHANGED, job, actor, before=before, after=snapshot(job), version=job.version)
    return job, checked


@transaction.atomic
def delete_job(job: Job, *, precondition: Precondition | None, actor: Actor) -> None:
    """Delete a job with its runs. Raises UnknownJob, VersionMismatch, VersionRequired."""
    row = Job.objects.select_for_update().filter(id=job.id).first()
    if row is None:
        raise UnknownJob(f"The job {job.name} was deleted meanwhile.")
    check(precondition, row.version)
    _record(event_types.JOB_DELETED, row, actor, before=snapshot(row), after=None)
    row.delete()


def spec_of(job: Job) -> JobSpec:
    """Return a stored job as its document defines it. Raises InvalidRequest."""
    document = read_job(job.text)
    if document.job is None:
        # Older than a rule that was added since.
        raise InvalidRequest(f"The stored job {job.name} is no longer valid. Write it again.")
    return document.job


def snapshot(job: Job) -> dict[str, Any]:
    """Return a job as audit records hold it. Templates name secrets, and hold none."""
    return {
        "project": job.project_id,
        "name": job.name,
        "namespace": job.namespace,
        "text": job.text,
        "assets": job.assets,
        "version": job.version,
    }


def _in_document(error: FieldError) -> FieldError:
    return FieldError(
        f"/text#{error.pointer}", error.code, error.message, error.hint, line=error.line, column=error.column
    )


def _replace_steps(job: Job, spec: JobSpec) -> None:
    job.steps.all().delete()
    steps = {(InstanceType.TASK, spec.task.name): spec.task.version}
    steps |= {(InstanceType.HOOK, hook.name): hook.version for hook in spec.hooks}
    JobStep.objects.bulk_create(
        JobStep(job=job, instance_type=kind, plugin=plugin, version=version)
        for (kind, plugin), version in steps.items()
    )


def _record(
    event_type: EventType,
    job: Job,
    actor: Actor,
    *,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    **data: Any,
) -> None:
    audit.record(
        event_type,
        "job",
        str(job.id),
        actor=actor,
        before=before,
        after=after,
        data={"name": job.name, **data},
        scope=Scope(project=job.project_id),
    )
