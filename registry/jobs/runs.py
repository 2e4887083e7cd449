"""Runs of jobs: created by the scheduler or the pod's init container, once per time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db import transaction

from controlplane.access import audit
from controlplane.errors import Conflict, FieldError, InvalidRequest, UnknownJob, UnknownJobRun
from controlplane.identity.actors import Actor
from controlplane.scopes import Scope
from registry.jobs import event_types
from registry.jobs.models import Job, JobRun
from registry.jobs.names import SETTING_RULE, is_setting_name


@dataclass(frozen=True, slots=True)
class RunTerms:
    """external_id: the scheduler's name of the run, or empty. overrides: a replay's settings of the task."""

    scheduled_at: datetime
    external_id: str = ""
    overrides: Mapping[str, str] = field(default_factory=dict)


@transaction.atomic
def create_run(job: Job, terms: RunTerms, *, actor: Actor) -> tuple[JobRun, bool]:
    """Return the run for this time, and whether it is new. Raises Conflict if it differs from the terms.

    A pod that starts again therefore finds its run, with the releases that it began with.
    """
    if invalid := [name for name in terms.overrides if not is_setting_name(name)]:
        pointer = f"/overrides/{invalid[0][:63]}"
        raise InvalidRequest(SETTING_RULE, errors=[FieldError(pointer, "invalid_value", SETTING_RULE)])
    # Two pods of one run can come at the same time.
    if not Job.objects.select_for_update(no_key=True, of=("self",)).filter(id=job.id).exists():
        raise UnknownJob(f"The job {job.name} was deleted meanwhile.")
    run = JobRun.objects.filter(job=job, scheduled_at=terms.scheduled_at).first()
    if run is not None:
        _check_same(run, terms)
        if terms.external_id and not run.external_id:
            _name(job, run, terms.external_id, actor)
        return run, False
    _check_free(job, terms.external_id)
    run = JobRun.objects.create(
        job=job,
        scheduled_at=terms.scheduled_at,
        external_id=terms.external_id,
        overrides=dict(terms.overrides),
        created_by=actor.name,
    )
    run.refresh_from_db()
    audit.record(
        event_types.RUN_CREATED,
        "job_run",
        str(run.id),
        actor=actor,
        before=None,
        after={"job": job.name, "scheduled_at": run.scheduled_at.isoformat(), "external_id": run.external_id},
        data={"job": job.name, "scheduled_at": run.scheduled_at.isoformat()},
        scope=Scope(project=job.project_id),
    )
    return run, True


def _check_free(job: Job, external_id: str) -> None:
    """Raise Conflict if another run of the job has this name."""
    if external_id and JobRun.objects.filter(job=job, external_id=external_id).exists():
        raise Conflict(f"The job has a run {external_id[:80]!r} already, scheduled for another time.")


def _name(job: Job, run: JobRun, external_id: str, actor: Actor) -> None:
    """Note the scheduler's name of a run that was created without it."""
    _check_free(job, external_id)
    run.external_id = external_id
    run.save(update_fields=["external_id"])
    audit.record(
        event_types.RUN_NAMED,
        "job_run",
        str(run.id),
        actor=actor,
        before={"external_id": ""},
        after={"external_id": external_id},
        data={"job": job.name, "external_id": external_id},
        scope=Scope(project=job.project_id),
    )


def find_run(
    job: Job, *, run_id: UUID | None = None, external_id: str = "", scheduled_at: datetime | None = None
) -> JobRun:
    """Return the run that is named in one of these ways. Raises UnknownJobRun, InvalidRequest."""
    rows = JobRun.objects.filter(job=job)
    if run_id is not None:
        rows = rows.filter(id=run_id)
    elif external_id:
        rows = rows.filter(external_id=external_id)
    elif scheduled_at is not None:
        rows = rows.filter(scheduled_at=scheduled_at)
    else:
        raise InvalidRequest("Name the run: send run_id, dag_run_id or scheduled_at.")
    run = rows.first()
    if run is None:
        raise UnknownJobRun(
            f"The job {job.name} has no such run. Create it with"
            f" POST /api/v1/jobs/{job.project_id}/{job.name}/runs."
        )
    return run


def _check_same(run: JobRun, terms: RunTerms) -> None:
    if terms.external_id and run.external_id and terms.external_id != run.external_id:
        raise Conflict(
            f"The run for this time is {run.external_id[:80]!r} of the scheduler, not another one."
        )
    if terms.overrides and dict(terms.overrides) != run.overrides:
        raise Conflict("The run for this time exists with other settings. A replay needs a time of its own.")
