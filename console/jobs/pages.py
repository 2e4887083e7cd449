"""The list of jobs, and the page of one job with what a run of it gets, and why."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.cpctl_commands import cpctl, curl
from console.forms import parse_time
from console.jobs.origins import Setting, settings_of
from console.pages import load_page, page
from controlplane.database.clock import database_now
from controlplane.errors import ControlplaneError
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.jobs.job_spec import JobSpec
from registry.jobs.models import Job, JobRun
from registry.jobs.run_input import InstanceType
from registry.jobs.stored_jobs import get_job, spec_of, visible_jobs
from registry.jobs.stored_run_input import Instance, StoredRunInput, preview_run_input
from registry.jobs.tenant_settings import tenant_of

_LATEST = 10


@page
def jobs(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_somewhere(Action.JOB_READ)
    project, plugin = (request.GET.get(name, "").strip()[:63] for name in ("project", "plugin"))
    rows = visible_jobs(caller)
    if project:
        rows = rows.filter(project=project if project.isprintable() else "")
    if plugin:
        rows = rows.filter(steps__plugin=plugin if plugin.isprintable() else "").distinct()
    context = {
        "project": project,
        "plugin": plugin,
        "results": load_page(request, caller, rows, order=("project_id", "name")),
        "now": database_now(),
        "copies": {"curl": curl(request, "GET", "jobs"), "cpctl": cpctl("jobs", "list")},
    }
    return render(request, "console/jobs/jobs.html", context)


@dataclass(frozen=True, slots=True)
class Preview:
    """What a run gets, or why it gets nothing."""

    found: StoredRunInput | None
    settings: tuple[Setting, ...] = ()
    problem: ControlplaneError | None = None


@page
def job(request: HttpRequest, caller: Caller, project: str, name: str) -> HttpResponse:
    row = get_job(caller, project, name)
    spec = spec_of(row)
    instance = _instance(request, spec)
    scheduled_at = parse_time(request.GET.get("scheduled_at", ""), "scheduled_at")
    run = _run(row, scheduled_at)
    context = {
        "job": row,
        "spec": spec,
        "instances": [spec.task.name, *(hook.name for hook in spec.hooks)],
        "instance": instance.name or spec.task.name,
        "run": run,
        "scheduled_at": run.scheduled_at,
        "preview": _preview(row, spec, run, instance),
        "runs": row.runs.order_by("-scheduled_at")[:_LATEST],
        "now": database_now(),
        "copies": {
            "curl": curl(
                request,
                "POST",
                f"jobs/{project}/{name}:preview-input",
                {"scheduled_at": f"{run.scheduled_at:%Y-%m-%dT%H:%M:%SZ}"},
            ),
            "cpctl": cpctl(
                *("jobs", "run-input", name, "-p", project),
                *("--scheduled-at", f"{run.scheduled_at:%Y-%m-%dT%H:%M:%SZ}"),
            ),
        },
    }
    return render(request, "console/jobs/job.html", context)


def _instance(request: HttpRequest, spec: JobSpec) -> Instance:
    """Return the hook that the URL names, or the task."""
    name = request.GET.get("instance", "")
    is_hook = any(hook.name == name for hook in spec.hooks)
    return Instance(InstanceType.HOOK, name) if is_hook else Instance(InstanceType.TASK)


def _run(job: Job, scheduled_at: datetime | None) -> JobRun:
    """Return the run for this time, or the latest; for a time without a run, one that is never stored."""
    rows = job.runs.order_by("-scheduled_at")
    found = rows.filter(scheduled_at=scheduled_at).first() if scheduled_at else rows.first()
    if found is not None:
        return found
    at = scheduled_at or database_now().replace(minute=0, second=0, microsecond=0)
    return JobRun(job=job, scheduled_at=at, started_at=at)


def _preview(job: Job, spec: JobSpec, run: JobRun, instance: Instance) -> Preview:
    try:
        found = preview_run_input(job, run, instance)
    except ControlplaneError as error:
        return Preview(None, problem=error)
    tenant: Any = tenant_of(job, with_secrets=False)
    return Preview(found, settings_of(spec, instance.name, run.overrides, tenant, found.input))
