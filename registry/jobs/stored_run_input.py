"""The input of a stored job's run: compiled with its variables and secrets, for a pinned release."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from controlplane.access import audit
from controlplane.errors import FieldError, InvalidRequest, UnknownJobRun
from controlplane.identity.actors import Actor
from controlplane.scopes import Scope
from registry.jobs import event_types
from registry.jobs.models import Job, JobRun
from registry.jobs.plugin_lookup import ChosenPlugin, FoundPlugin, found_plugin, plugin_of_run, step_of
from registry.jobs.run_input import InstanceType, InvalidRunInput, Run, RunInput, compile_run_input
from registry.jobs.stored_jobs import spec_of
from registry.jobs.tenant_settings import tenant_of


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


@transaction.atomic
def read_run_input(job: Job, run: JobRun, instance: Instance, *, actor: Actor) -> StoredRunInput:
    """Return the input of a run. The first one pins the plugin's release and archive, unless it fails.

    Raises InvalidRequest for templates that fail, UnknownPlugin, UnknownJobRun, SecretsUnavailable.
    """
    # Two containers of one pod may come at the same time.
    locked = JobRun.objects.select_for_update(no_key=True).filter(id=run.id).first()
    if locked is None:
        raise UnknownJobRun("The run was deleted meanwhile.")
    step = step_of(spec_of(job), instance.type, instance.name)
    chosen = plugin_of_run(job, locked, step.name)
    found = found_plugin(chosen, step.version)
    compiled = _compile(job, locked, instance, with_secrets=True)
    if step.name not in locked.releases:
        _pin(job, locked, chosen, actor)
    return StoredRunInput(locked, compiled, found)


def preview_run_input(job: Job, run: JobRun, instance: Instance) -> StoredRunInput:
    """Return the input with names for secrets, as a run would get it now. Nothing is pinned."""
    step = step_of(spec_of(job), instance.type, instance.name)
    found = found_plugin(plugin_of_run(job, run, step.name), step.version)
    return StoredRunInput(run, _compile(job, run, instance, with_secrets=False), found)


def _pin(job: Job, run: JobRun, chosen: ChosenPlugin, actor: Actor) -> None:
    """Have later inputs of the run use the same plugin. The run is locked."""
    row, artifact = chosen.row, chosen.artifact
    assert artifact is not None  # found_plugin has seen it
    run.releases = {**run.releases, row.name: str(row.release_id)}
    run.artifacts = {**run.artifacts, row.name: str(artifact.id)}
    run.save(update_fields=["releases", "artifacts"])
    audit.record(
        event_types.RUN_PINNED,
        "job_run",
        str(run.id),
        actor=actor,
        before=None,
        after={"releases": run.releases, "artifacts": run.artifacts},
        data={"job": job.name, "plugin": row.name, "release": str(row.release_id)},
        scope=Scope(project=job.project_id),
    )


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
