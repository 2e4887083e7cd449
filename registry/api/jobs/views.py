"""HTTP endpoints that check jobs, and show what a run would get. They store nothing."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.endpoints import Endpoint
from controlplane.api.fields import Query, parse_body
from controlplane.errors import FieldError, InvalidRequest
from controlplane.identity.roles import Action
from registry.api.jobs import examples, schemas
from registry.jobs.documents import JobDocument, read_job
from registry.jobs.job_spec import JobSpec
from registry.jobs.run_input import (
    InstanceType,
    InvalidRunInput,
    Run,
    RunInput,
    Tenant,
    compile_run_input,
)
from registry.plugins.documents.diagnostics import Severity

_TAGS = ["jobs"]


class JobCheck(Endpoint):
    # Nothing but the document itself is read.
    actions = {"POST": Action.SELF_READ}
    takes_keys = False
    takes_bundles = True

    @extend_schema(
        operation_id="jobs_validate",
        summary="Validate a job",
        description="Returns all errors of a job.yaml with line and column, also of its templates. Nothing"
        " is stored.",
        tags=_TAGS,
        request=schemas.JobDocumentWrite,
        responses=schemas.JobValidation,
        examples=[examples.JOB_WRITE, examples.VALIDATION],
    )
    def post(self, request: Request) -> Response:
        Query.parse(request)
        return Response(_validation(read_job(parse_body(schemas.JobDocumentWrite, request)["text"])))


class JobPreview(Endpoint):
    actions = {"POST": Action.SELF_READ}
    takes_keys = False
    takes_bundles = True

    @extend_schema(
        operation_id="jobs_preview",
        summary="Preview the input of a run",
        description="Compiles a job's settings and files as for a run at this time: the environment, the"
        " variables with secrets, and the files. Secrets are named and never read. Nothing is stored.",
        tags=_TAGS,
        request=schemas.JobPreviewWrite,
        responses=schemas.JobPreviewRead,
        examples=[examples.PREVIEW_WRITE, examples.PREVIEW],
    )
    def post(self, request: Request) -> Response:
        Query.parse(request)
        body = parse_body(schemas.JobPreviewWrite, request)
        check_size(body["assets"])
        document = read_job(body["text"])
        shown = _validation(document)
        run_input: RunInput | None = None
        if document.job is not None:
            try:
                run_input = compile_run_input(_run(document.job, body), _tenant(body), dry_run=True)
            except InvalidRunInput as error:
                shown["valid"] = False
                shown["diagnostics"] = schemas.show_part_errors(error.errors) + shown["diagnostics"]
        return Response(shown | schemas.show_run_input(run_input))


def _validation(document: JobDocument) -> dict[str, Any]:
    return {
        "valid": document.job is not None,
        "name": document.job.name if document.job else "",
        "diagnostics": [
            *schemas.show_findings(Severity.ERROR, document.errors),
            *schemas.show_findings(Severity.WARNING, document.warnings),
        ],
    }


def check_size(assets: dict[str, str]) -> None:
    if sum(map(len, assets.values())) > schemas.MOST_CHARACTERS:
        message = f"The files have more than {schemas.MOST_CHARACTERS} characters together."
        raise InvalidRequest(message, errors=[FieldError("/assets", "too_large", message)])


def _run(job: JobSpec, body: dict[str, Any]) -> Run:
    return Run(
        job,
        scheduled_at=body["scheduled_at"],
        # A run starts when it is scheduled, as far as anybody knows before.
        executed_at=body["scheduled_at"],
        instance_type=InstanceType(body["instance_type"]),
        instance_name=body.get("instance_name") or job.task.name,
        assets=body["assets"],
    )


def _tenant(body: dict[str, Any]) -> Tenant:
    return Tenant(
        body["project"],
        body["namespace"],
        project_config=body["config"],
        secrets=dict.fromkeys(body["secret_names"], ""),
    )
