"""HTTP endpoints of runs, and of the input that their executors get."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, MutationQuery, actor_of, caller_of, mutation
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import PageQuery, page_response, paginate
from controlplane.identity.roles import Action
from registry.api.jobs import stored_examples as examples
from registry.api.jobs import stored_schemas as schemas
from registry.jobs.bundles import bundle_files, write_tar
from registry.jobs.models import Job, JobRun
from registry.jobs.run_input import InstanceType
from registry.jobs.runs import RunTerms, create_run, find_run
from registry.jobs.stored_jobs import get_job
from registry.jobs.stored_run_input import Instance, preview_run_input, read_run_input

_TAGS = ["jobs"]
_TAR = "application/x-tar"


class JobRunCollection(Endpoint):
    actions = {"GET": Action.JOB_READ, "POST": Action.JOB_RUN}
    problems = {
        "GET": (errors.UnknownJob,),
        "POST": (errors.UnknownJob, errors.Conflict),
    }

    @extend_schema(
        operation_id="job_runs_list",
        summary="List runs of a job",
        description="Newest first.",
        tags=_TAGS,
        parameters=[PageQuery],
        responses=schemas.JobRunPage,
        examples=[examples.RUNS],
    )
    def get(self, request: Request, project: str, name: str) -> Response:
        query = PageQuery.parse(request)
        rows = JobRun.objects.filter(job=get_job(caller_of(request), project, name))
        page = paginate(request, rows, order=("-id",), query=query)
        return page_response(request, page, schemas.show_run)

    @extend_schema(
        operation_id="job_runs_create",
        summary="Create a run of a job",
        description="201 for a new run. The run for a time that has one is returned with 200, so that a pod"
        " may start again.",
        tags=_TAGS,
        parameters=[MutationQuery],
        request=schemas.JobRunWrite,
        responses={200: schemas.JobRunRead, 201: schemas.JobRunRead},
        examples=[examples.RUN_WRITE, examples.RUN, examples.RUN_CREATED],
    )
    @mutation
    def post(self, request: Request, project: str, name: str) -> Response:
        MutationQuery.parse(request)
        body = parse_body(schemas.JobRunWrite, request)
        job = get_job(caller_of(request), project, name, Action.JOB_RUN)
        terms = RunTerms(body["scheduled_at"], body["external_id"], body["overrides"])
        run, is_new = create_run(job, terms, actor=actor_of(request))
        return Response(schemas.show_run(run), status=201 if is_new else 200)


class _InputEndpoint(Endpoint):
    """What both operations on inputs share: how the run and the instance are named."""

    problems = {
        "POST": (
            errors.UnknownJob,
            errors.UnknownJobRun,
            errors.UnknownPlugin,
            errors.SecretsUnavailable,
        )
    }
    takes_keys = False

    def asked_for(
        self, request: Request, project: str, name: str, action: Action
    ) -> tuple[Job, JobRun, Instance]:
        Query.parse(request)
        body = parse_body(schemas.RunInputWrite, request)
        job = get_job(caller_of(request), project, name, action)
        run = find_run(
            job,
            run_id=body.get("run_id"),
            external_id=body["dag_run_id"],
            scheduled_at=body.get("scheduled_at"),
        )
        return job, run, Instance(InstanceType(body["instance_type"]), body["instance_name"])


class JobRunInput(_InputEndpoint):
    actions = {"POST": Action.RUN_INPUT_READ}

    @extend_schema(
        operation_id="jobs_run_input",
        summary="Read the input of a run",
        description=(
            "What an executor gets: environment, secrets and files, compiled for this run, and the script of"
            " its plugin. The first input pins the active release of the plugin, and later ones of a run use"
            " the same. `Accept: application/x-tar` returns the files of the boot bundle."
        ),
        tags=_TAGS,
        request=schemas.RunInputWrite,
        responses={
            (200, "application/json"): schemas.RunInputRead,
            (200, _TAR): OpenApiTypes.BINARY,
        },
        examples=[examples.RUN_INPUT_WRITE, examples.RUN_INPUT],
    )
    def post(self, request: Request, project: str, name: str) -> Response | HttpResponse:
        asked = self.asked_for(request, project, name, Action.RUN_INPUT_READ)
        found = read_run_input(*asked, actor=actor_of(request))
        if _TAR not in request.headers.get("Accept", ""):
            return Response(schemas.show_stored_input(found))
        files = bundle_files(found.input, found.plugin.executor.entrypoint.script)
        return HttpResponse(write_tar(files), content_type=_TAR)

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        # The view itself answers with tar.
        return super().perform_content_negotiation(request, force=True)


class JobRunInputPreview(_InputEndpoint):
    actions = {"POST": Action.JOB_READ}

    @extend_schema(
        operation_id="jobs_preview_input",
        summary="Preview the input of a run",
        description="As the run would get it now, with names for the values of secrets. Nothing is pinned.",
        tags=_TAGS,
        request=schemas.RunInputWrite,
        responses=schemas.RunInputRead,
        examples=[examples.RUN_INPUT_WRITE, examples.RUN_INPUT],
    )
    def post(self, request: Request, project: str, name: str) -> Response:
        asked = self.asked_for(request, project, name, Action.JOB_READ)
        return Response(schemas.show_stored_input(preview_run_input(*asked)))
