"""HTTP endpoints for organisations."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.access.organisations import get_organisation
from controlplane.access.team_models import Organisation
from controlplane.access.teams import organisations
from controlplane.api.endpoints import Endpoint, MutationQuery, actor_of, mutation
from controlplane.api.etags import version_etag
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.endpoints.access.teams import examples, schemas
from controlplane.identity.roles import Action


class OrganisationCollection(Endpoint):
    actions = {"GET": Action.ACCESS_READ, "POST": Action.ACCESS_WRITE}
    problems = {"POST": (errors.OrganisationsOff,)}

    @extend_schema(
        operation_id="organisations_list",
        summary="List organisations",
        description="Returns the tenants of the installation: only `default`, unless ORGANISATIONS is on.",
        tags=["access"],
        parameters=[schemas.OrganisationListQuery],
        responses=schemas.OrganisationPage,
        examples=[examples.ORGANISATION_PAGE],
    )
    def get(self, request: Request) -> Response:
        query = schemas.OrganisationListQuery.parse(request)
        page = paginate(request, Organisation.objects.filter(query["q"]), order=query["sort"], query=query)
        return page_response(request, page, schemas.show_organisation)

    @extend_schema(
        operation_id="organisations_create",
        summary="Create an organisation",
        description="Rejected with `organisations_off` unless ORGANISATIONS is on.",
        tags=["access"],
        parameters=[MutationQuery],
        request=schemas.OrganisationWrite,
        responses={201: schemas.OrganisationRead},
        examples=[examples.ORGANISATION_WRITE, examples.ORGANISATION],
    )
    @mutation
    def post(self, request: Request) -> Response:
        MutationQuery.parse(request)
        body = parse_body(schemas.OrganisationWrite, request)
        organisation = organisations.create_organisation(
            body["slug"], title=body["title"], actor=actor_of(request)
        )
        headers = {
            "Location": f"{request.path}/{organisation.slug}",
            "ETag": version_etag(organisation.version),
        }
        return Response(schemas.show_organisation(organisation), status=201, headers=headers)


class OrganisationItem(Endpoint):
    actions = {"GET": Action.ACCESS_READ}

    @extend_schema(
        operation_id="organisations_get",
        summary="Get one organisation",
        description="Returns the title of an organisation.",
        tags=["access"],
        responses=schemas.OrganisationRead,
        examples=[examples.ORGANISATION],
    )
    def get(self, request: Request, slug: str) -> Response:
        Query.parse(request)
        return Response(schemas.show_organisation(get_organisation(slug)))
