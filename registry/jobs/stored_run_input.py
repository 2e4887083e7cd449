"""The input of a stored job's run: compiled with its variables and secrets, for a pinned release."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from controlplane.errors import FieldError, InvalidRequest
from registry.jobs.models import Job, JobRun
from registry.jobs.plugin_lookup import FoundPlugin, active_plugin, found_plugin, pinned_plugin, step_of
from registry.jobs.run_input import InstanceType, InvalidRunInput, Run, RunInput, compile_run_input
from registry.jobs.stored_jobs import spec_of
from registry.jobs.tenant_settings import tenant_of
from registry.plugin_releases.models import ReleasedPlugin


@dataclass(frozen=True, slots=True)
class Instance:
    """What runs: the task or a hook. name: empty for the task."""

    type: InstanceType
    name: str = ""


@dataclass(frozen=True, slots=True)
class StoredRunInput:
    """What an executor gets, and the plugin that runs it."""

    run: JobRun
    input: RunInput
    plugin: FoundPlugin


def read_run_input(job: Job, run: JobRun, instance: Instance) -> StoredRunInput:
    """Return the input of a run, and pin the release of its plugin.

    Raises InvalidRequest for templates that fail, UnknownPlugin, SecretsUnavailable.
    """
    spec = spec_of(job)
    step = step_of(spec, instance.type, instance.name)
    plugin = found_plugin(_pin(job, run, step.name), step.version)
    return StoredRunInput(run, _compile(job, run, instance, with_secrets=True), plugin)


def preview_run_input(job: Job, run: JobRun, instance: Instance) -> StoredRunInput:
    """Return the input with names for secrets, as a run would get it now. Nothing is pinned."""
    spec = spec_of(job)
    step = step_of(spec, instance.type, instance.name)
    pinned = run.releases.get(step.name)
    row = pinned_plugin(UUID(pinned), step.name) if pinned else active_plugin(job, step.name)
    return StoredRunInput(
        run, _compile(job, run, instance, with_secrets=False), found_plugin(row, step.version)
    )


@transaction.atomic
def _pin(job: Job, run: JobRun, plugin: str) -> ReleasedPlugin:
    """Return the plugin in the release that the run began with; the active one begins it."""
    locked = JobRun.objects.select_for_update().get(id=run.id)
    if pinned := locked.releases.get(plugin):
        return pinned_plugin(UUID(pinned), plugin)
    row = active_plugin(job, plugin)
    locked.releases = {**locked.releases, plugin: str(row.release_id)}
    locked.save(update_fields=["releases"])
    return row


def _compile(job: Job, run: JobRun, instance: Instance, *, with_secrets: bool) -> RunInput:
    spec = spec_of(job)
    compiled = Run(
        spec,
        scheduled_at=run.scheduled_at,
        executed_at=run.started_at,
        instance_type=instance.type,
        instance_name=instance.name or spec.task.name,
        job_id=str(job.id),
        assets=job.assets,
        overrides=run.overrides,
    )
    tenant = tenant_of(job, with_secrets=with_secrets)
    try:
        return compile_run_input(compiled, tenant, dry_run=not with_secrets)
    except InvalidRunInput as error:
        errors = [
            FieldError(f"/{part.part}", "invalid_template", part.message, line=part.line, column=part.column)
            for part in error.errors
        ]
        raise InvalidRequest("The job's templates cannot be compiled for this run.", errors=errors) from error
