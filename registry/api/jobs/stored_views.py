"""HTTP endpoints of stored jobs, and of their variables and secrets."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import OF_LISTS, Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.etags import parse_precondition, respond, version_etag
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from registry.api.jobs import stored_examples as examples
from registry.api.jobs import stored_schemas as schemas
from registry.api.jobs.views import check_size
from registry.jobs import stored_jobs, tenant_settings
from registry.jobs.models import JobSecret
from registry.plugin_releases.plugin_sets import find_team

_TAGS = ["jobs"]


class JobCollection(Endpoint):
    actions = {"GET": Action.JOB_READ}
    staleness = OF_LISTS

    @extend_schema(
        operation_id="jobs_list",
        summary="List jobs",
        description="Jobs of the projects that you may read, by project and name.",
        tags=_TAGS,
        parameters=[schemas.JobListQuery],
        responses=schemas.JobPage,
        examples=[examples.JOBS],
    )
    def get(self, request: Request) -> Response:
        query = schemas.JobListQuery.parse(request)
        rows = stored_jobs.visible_jobs(caller_of(request))
        if "project" in query:
            rows = rows.filter(project=query["project"])
        if "plugin" in query:
            rows = rows.filter(steps__plugin=query["plugin"]).distinct()
        page = paginate(request, rows.filter(query["q"]), order=query["sort"], query=query)
        return page_response(request, page, schemas.show_summary)


class JobItem(Endpoint):
    actions = {"GET": Action.JOB_READ, "PUT": Action.JOB_WRITE, "DELETE": Action.JOB_WRITE}
    problems = {
        "GET": (errors.UnknownJob,),
        "PUT": (errors.UnknownProject, errors.UnknownTeam, errors.Conflict),
        "DELETE": (errors.UnknownJob,),
    }
    has_versions = True
    takes_bundles = True

    @extend_schema(
        operation_id="jobs_get",
        summary="Get a job",
        description="Returns an ETag; send it as `If-Match` to change or delete the job.",
        tags=_TAGS,
        responses=schemas.JobRead,
        examples=[examples.JOB],
    )
    def get(self, request: Request, project: str, name: str) -> Response:
        Query.parse(request)
        job = stored_jobs.get_job(caller_of(request), project, name)
        return respond(request, schemas.show_job(job), etag=version_etag(job.version))

    @extend_schema(
        operation_id="jobs_put",
        summary="Create or replace a job",
        description="Its document, job.yaml, and its files. All errors are returned with line and column, and"
        " then nothing is stored. Files that can read a secret give a warning.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=schemas.JobWrite,
        responses=schemas.JobWritten,
        examples=[examples.JOB_WRITE, examples.JOB_WRITTEN],
    )
    @mutation
    def put(self, request: Request, project: str, name: str) -> Response:
        query, caller = ReasonedQuery.parse(request), caller_of(request)
        body = parse_body(schemas.JobWrite, request)
        caller.require(Action.JOB_WRITE, Scope(project=project))
        check_size(body["assets"])
        slug = body["team"]
        team = find_team(caller, slug, Action.PLUGIN_READ) if slug else None
        job, checked = stored_jobs.put_job(
            project,
            name,
            stored_jobs.JobTerms(body["text"], body["assets"], body["namespace"], team),
            precondition=parse_precondition(request),
            actor=actor_of(request, query["change_message"]),
        )
        return Response(schemas.show_written(job, checked), headers={"ETag": version_etag(job.version)})

    @extend_schema(
        operation_id="jobs_delete",
        summary="Delete a job",
        description="With its runs. Pods that start afterwards get no input.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, project: str, name: str) -> Response:
        query = ReasonedQuery.parse(request)
        job = stored_jobs.get_job(caller_of(request), project, name, Action.JOB_WRITE)
        actor = actor_of(request, query["change_message"])
        stored_jobs.delete_job(job, precondition=parse_precondition(request), actor=actor)
        return Response(status=204)


class JobVariablesItem(Endpoint):
    actions = {"GET": Action.JOB_READ, "PUT": Action.JOB_WRITE}
    problems = {"PUT": (errors.UnknownProject, errors.Conflict)}
    has_versions = True

    @extend_schema(
        operation_id="job_variables_get",
        summary="Get the variables of a project",
        description="Or of a namespace in it, which win. Returns an ETag.",
        tags=_TAGS,
        parameters=[schemas.NamespaceQuery],
        responses=schemas.JobVariablesRead,
        examples=[examples.VARIABLES],
    )
    def get(self, request: Request, project: str) -> Response:
        query = schemas.NamespaceQuery.parse(request)
        caller_of(request).require(Action.JOB_READ, Scope(project=project))
        row = tenant_settings.variables_of(project, query["namespace"])
        return respond(request, schemas.show_variables(row), etag=version_etag(row.version))

    @extend_schema(
        operation_id="job_variables_put",
        summary="Replace the variables of a project",
        description="Runs whose input is read afterwards get them.",
        tags=_TAGS,
        parameters=[schemas.NamespaceChangeQuery],
        request=schemas.JobVariablesWrite,
        responses=schemas.JobVariablesRead,
        examples=[examples.VARIABLES_WRITE, examples.VARIABLES],
    )
    @mutation
    def put(self, request: Request, project: str) -> Response:
        query = schemas.NamespaceChangeQuery.parse(request)
        body = parse_body(schemas.JobVariablesWrite, request)
        caller_of(request).require(Action.JOB_WRITE, Scope(project=project))
        row = tenant_settings.put_variables(
            project,
            query["namespace"],
            body["variables"],
            precondition=parse_precondition(request),
            actor=actor_of(request, query["change_message"]),
        )
        return Response(schemas.show_variables(row), headers={"ETag": version_etag(row.version)})


class JobSecretCollection(Endpoint):
    actions = {"GET": Action.JOB_READ}

    @extend_schema(
        operation_id="job_secrets_list",
        summary="List secrets of a project",
        description="Their names, never their values, of all namespaces.",
        tags=_TAGS,
        parameters=[schemas.JobSecretListQuery],
        responses=schemas.JobSecretPage,
        examples=[examples.SECRETS],
    )
    def get(self, request: Request, project: str) -> Response:
        query = schemas.JobSecretListQuery.parse(request)
        caller_of(request).require(Action.JOB_READ, Scope(project=project))
        rows = JobSecret.objects.filter(project=project)
        page = paginate(request, rows.filter(query["q"]), order=query["sort"], query=query)
        return page_response(request, page, schemas.show_secret)


class JobSecretItem(Endpoint):
    actions = {"PUT": Action.JOB_WRITE, "DELETE": Action.JOB_WRITE}
    problems = {
        "PUT": (errors.UnknownProject, errors.Conflict, errors.SecretsUnavailable),
        "DELETE": (errors.UnknownJobSecret,),
    }

    @extend_schema(
        operation_id="job_secrets_put",
        summary="Store a secret of a project",
        description="Or of a namespace in it. An earlier value is replaced.",
        tags=_TAGS,
        parameters=[schemas.NamespaceChangeQuery],
        request=schemas.JobSecretWrite,
        responses=schemas.JobSecretRead,
        examples=[examples.SECRET_WRITE, examples.SECRET],
    )
    @mutation
    def put(self, request: Request, project: str, name: str) -> Response:
        query = schemas.NamespaceChangeQuery.parse(request)
        value = parse_body(schemas.JobSecretWrite, request)["value"]
        caller_of(request).require(Action.JOB_WRITE, Scope(project=project))
        actor = actor_of(request, query["change_message"])
        secret = tenant_settings.write_secret(project, query["namespace"], name, value, actor=actor)
        return Response(schemas.show_secret(secret))

    @extend_schema(
        operation_id="job_secrets_delete",
        summary="Delete a secret of a project",
        description="Templates that read it render `<no value>` from then on, with which no executor starts.",
        tags=_TAGS,
        parameters=[schemas.NamespaceChangeQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, project: str, name: str) -> Response:
        query = schemas.NamespaceChangeQuery.parse(request)
        caller_of(request).require(Action.JOB_WRITE, Scope(project=project))
        actor = actor_of(request, query["change_message"])
        tenant_settings.delete_secret(project, query["namespace"], name, actor=actor)
        return Response(status=204)
