"""HTTP endpoints for identities: accounts of people at identity providers."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.access import principals
from controlplane.access.login.oidc import identities
from controlplane.api.endpoints import Endpoint, MutationQuery, actor_of, mutation
from controlplane.api.fields import parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.endpoints.access.login import examples, schemas
from controlplane.identity.roles import Action

_TAGS = ["access"]


class IdentityCollection(Endpoint):
    actions = {"GET": Action.ACCESS_READ, "POST": Action.ACCESS_WRITE}
    problems = {"POST": (errors.UnknownPrincipal, errors.NameTaken, errors.LoginRefused)}

    @extend_schema(
        operation_id="identities_list",
        summary="List identities",
        description="Accounts at identity providers, each with the person to whom it belongs.",
        tags=_TAGS,
        parameters=[schemas.IdentityListQuery],
        responses=schemas.IdentityPage,
        examples=[examples.IDENTITIES],
    )
    def get(self, request: Request) -> Response:
        query = schemas.IdentityListQuery.parse(request)
        rows = identities.list_identities()
        if "principal" in query:
            rows = rows.filter(principal__name=query["principal"])
        page = paginate(request, rows.filter(query["q"]), order=query["sort"], query=query)
        return page_response(request, page, schemas.show_identity)

    @extend_schema(
        operation_id="identities_create",
        summary="Link an identity to a person",
        description=(
            "The person can then log in with this account of the provider. It is known by issuer and subject,"
            " never by e-mail address or name."
        ),
        tags=_TAGS,
        parameters=[MutationQuery],
        request=schemas.IdentityWrite,
        responses={201: schemas.IdentityRead},
        examples=[examples.IDENTITY_WRITE, examples.IDENTITY],
    )
    @mutation
    def post(self, request: Request) -> Response:
        MutationQuery.parse(request)
        body = parse_body(schemas.IdentityWrite, request)
        person = principals.get_principal(body["principal"])
        identity = identities.link_identity(person, body["issuer"], body["subject"], actor=actor_of(request))
        location = {"Location": f"{request.path}/{identity.id}"}
        return Response(schemas.show_identity(identity), status=201, headers=location)


class IdentityItem(Endpoint):
    actions = {"DELETE": Action.ACCESS_WRITE}

    @extend_schema(
        operation_id="identities_delete",
        summary="Remove an identity from its person",
        description="Its sessions end. With JIT=true, its next login creates another person.",
        tags=_TAGS,
        parameters=[MutationQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, identity_id: UUID) -> Response:
        MutationQuery.parse(request)
        identities.unlink_identity(identity_id, actor=actor_of(request))
        return Response(status=204)
