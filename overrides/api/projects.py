"""HTTP endpoints for projects and domains."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.bodies import MergePatchParser
from controlplane.api.endpoints import Endpoint, MutationQuery, actor_of, caller_of, mutation
from controlplane.api.etags import parse_precondition, respond, version_etag
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.database.label_conditions import selected_by
from controlplane.errors import UnknownDomain, UnknownProject
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.api import examples, project_schemas
from overrides.models import Domain, Project, ProjectState
from overrides.projects import create_domain, create_project, require_readable, update_project


class ProjectCollection(Endpoint):
    actions = {"GET": Action.PROJECT_READ, "POST": Action.PROJECT_WRITE}

    @extend_schema(
        operation_id="projects_list",
        summary="List projects",
        description="Lists the projects that the caller can read, including archived projects.",
        tags=["projects and domains"],
        parameters=[project_schemas.ProjectListQuery],
        responses=project_schemas.ProjectPage,
        examples=[examples.PROJECT_PAGE],
    )
    def get(self, request: Request) -> Response:
        query = project_schemas.ProjectListQuery.parse(request)
        rows = Project.objects.readable_in(caller_of(request).scopes_for(Action.PROJECT_READ))
        if "q" in query:
            rows = rows.mentioning(query["q"])
        if "state" in query:
            rows = rows.filter(state=ProjectState.labels.index(query["state"]))
        rows = rows.filter(selected_by(query["selector"]))
        page = paginate(request, rows, order=query["sort"], query=query)
        return page_response(request, page, project_schemas.show_project)

    @extend_schema(
        operation_id="projects_create",
        summary="Create a project",
        description="Overrides can be set for the project as soon as it exists.",
        tags=["projects and domains"],
        parameters=[MutationQuery],
        request=project_schemas.ProjectWrite,
        responses={201: project_schemas.ProjectRead},
        examples=[examples.PROJECT_WRITE, examples.PROJECT],
    )
    @mutation
    def post(self, request: Request) -> Response:
        MutationQuery.parse(request)
        body = parse_body(project_schemas.ProjectWrite, request)
        caller = caller_of(request)
        caller.require_to_create_projects()
        fields = project_schemas.project_fields(body, state=body["state"])
        project = create_project(body["id"], fields, actor=actor_of(request), tenant=caller.tenant)
        project.refresh_from_db()
        headers = {"Location": f"{request.path}/{project.id}", "ETag": version_etag(project.version)}
        return Response(project_schemas.show_project(project), status=201, headers=headers)


class ProjectItem(Endpoint):
    actions = {"GET": Action.PROJECT_READ, "PATCH": Action.PROJECT_WRITE}
    has_versions = True

    def get_parsers(self) -> list[BaseParser]:
        return [*super().get_parsers(), *([MergePatchParser()] if self._patches else [])]

    @property
    def _patches(self) -> bool:
        return getattr(self.request, "method", None) == "PATCH"

    @extend_schema(
        operation_id="projects_get",
        summary="Get one project",
        description="Returns the project's name, description, labels and state, and an ETag; send it as "
        "`If-Match` to update exactly this version.",
        tags=["projects and domains"],
        responses=project_schemas.ProjectRead,
        examples=[examples.PROJECT],
    )
    def get(self, request: Request, project: str) -> Response:
        Query.parse(request)
        require_readable(caller_of(request), project)
        row = Project.objects.filter(id=project).first()
        if row is None:
            raise UnknownProject(f"Project {project[:80]!r} does not exist.")
        return respond(request, project_schemas.show_project(row), etag=version_etag(row.version))

    @extend_schema(
        operation_id="projects_patch",
        summary="Update a project",
        description=(
            "Absent fields stay unchanged. `labels` replaces all labels. Flyte's clients cannot change "
            "attributes of an archived project; its overrides stay in effect. With `If-Match`, the update "
            "is refused if the project has changed since you read it."
        ),
        tags=["projects and domains"],
        parameters=[MutationQuery],
        request={
            "application/json": project_schemas.ProjectPatch,
            "application/merge-patch+json": project_schemas.ProjectPatch,
        },
        responses=project_schemas.ProjectRead,
        examples=[*examples.PROJECT_PATCHES, examples.PROJECT],
    )
    @mutation
    def patch(self, request: Request, project: str) -> Response:
        MutationQuery.parse(request)
        caller_of(request).require(Action.PROJECT_WRITE, Scope(project=project))
        body = parse_body(project_schemas.ProjectPatch, request)
        fields = project_schemas.project_fields(body, state=body.get("state"))
        precondition = parse_precondition(request)
        update_project(
            project,
            fields,
            actor=actor_of(request),
            precondition=precondition if precondition.is_set else None,
        )
        row = Project.objects.get(id=project)
        return Response(project_schemas.show_project(row), headers={"ETag": version_etag(row.version)})


class DomainCollection(Endpoint):
    actions = {"GET": Action.SELF_READ, "POST": Action.PROJECT_WRITE}

    @extend_schema(
        operation_id="domains_list",
        summary="List domains",
        description="Domains such as development, staging and production; every project has all of them.",
        tags=["projects and domains"],
        parameters=[project_schemas.DomainListQuery],
        responses=project_schemas.DomainPage,
        examples=[examples.DOMAIN_PAGE],
    )
    def get(self, request: Request) -> Response:
        query = project_schemas.DomainListQuery.parse(request)
        page = paginate(request, Domain.objects.filter(query["q"]), order=query["sort"], query=query)
        return page_response(request, page, project_schemas.show_domain)

    @extend_schema(
        operation_id="domains_create",
        summary="Create a domain",
        description="The new domain exists in every project immediately.",
        tags=["projects and domains"],
        parameters=[MutationQuery],
        request=project_schemas.DomainWrite,
        responses={201: project_schemas.DomainRead},
        examples=[examples.DOMAIN_WRITE, examples.DOMAIN],
    )
    @mutation
    def post(self, request: Request) -> Response:
        MutationQuery.parse(request)
        body = parse_body(project_schemas.DomainWrite, request)
        caller_of(request).require(Action.PROJECT_WRITE, Scope())
        domain = create_domain(body["id"], name=body["name"], actor=actor_of(request))
        domain.refresh_from_db()
        location = {"Location": f"{request.path}/{domain.id}"}
        return Response(project_schemas.show_domain(domain), status=201, headers=location)


class DomainItem(Endpoint):
    actions = {"GET": Action.SELF_READ}

    @extend_schema(
        operation_id="domains_get",
        summary="Get one domain",
        description="Returns the domain's ID and display name.",
        tags=["projects and domains"],
        responses=project_schemas.DomainRead,
        examples=[examples.DOMAIN],
    )
    def get(self, request: Request, domain: str) -> Response:
        Query.parse(request)
        row = Domain.objects.filter(id=domain).first()
        if row is None:
            raise UnknownDomain(f"Domain {domain[:80]!r} does not exist.")
        return Response(project_schemas.show_domain(row))
