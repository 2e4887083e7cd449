"""Where each setting of a run comes from: which part of the job, the run or the system wrote it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from registry.jobs.job_spec import JobSpec
from registry.jobs.run_input import JOB_LABELS, RunInput, Tenant


@dataclass(frozen=True, slots=True)
class Setting:
    """A variable of the executor. template: as written; reads: the variables in it, with their level."""

    name: str
    value: str
    origin: str
    template: str = ""
    reads: tuple[str, ...] = ()
    is_secret: bool = False


def settings_of(
    spec: JobSpec, hook: str, overrides: Mapping[str, str], tenant: Tenant, run_input: RunInput
) -> tuple[Setting, ...]:
    """Return all variables by name, each with what wrote it. hook: empty for the task."""
    templates, part = dict(spec.task.config), f"task {spec.task.name}"
    if hook:
        templates = dict(next(step.config for step in spec.hooks if step.name == hook))
        part, overrides = f"hook {hook}", {}
    values = {**run_input.envs, **run_input.secrets}
    settings = []
    for name, value in sorted(values.items()):
        template = overrides.get(name, templates.get(name, ""))
        if name not in templates and name not in overrides:
            origin = "labels of the job" if name == JOB_LABELS else "system"
        else:
            origin = "run" if name in overrides else part
        reads = _reads(template, tenant)
        settings.append(Setting(name, value, origin, template, reads, name in run_input.secrets))
    return tuple(settings)


def _reads(template: str, tenant: Tenant) -> tuple[str, ...]:
    """Return the variables that a template names, with the level whose value wins."""
    origins = []
    for name in {**tenant.project_config, **tenant.namespace_config}:
        if f".proj.{name}" in template or f".GLOBAL__{name}" in template:
            level = "namespace" if name in tenant.namespace_config else "project"
            origins.append(f"{name} of the {level}")
    origins += [f"secret {name}" for name in tenant.secrets if f".secret.{name}" in template]
    return tuple(sorted(origins))
