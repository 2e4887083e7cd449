"""HTTP endpoints for OAuth clients and their secrets."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.access.oauth import client_secrets, clients
from controlplane.access.oauth.client_rights import require_rights_of
from controlplane.access.oauth.client_specs import ClientSpec
from controlplane.access.oauth.models import ClientSecret, OAuthClient
from controlplane.api.endpoints import Endpoint, MutationQuery, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.etags import parse_precondition, respond, version_etag
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import PageQuery, page_response, paginate
from controlplane.endpoints.access.oauth import examples, schemas
from controlplane.identity.roles import Action

_TAGS = ["access"]
_LISTS = ("redirect_uris", "grants", "scopes", "default_scopes", "audiences")


class ClientCollection(Endpoint):
    actions = {"GET": Action.ACCESS_READ, "POST": Action.ACCESS_WRITE}
    problems = {"POST": (errors.UnknownPrincipal, errors.UnknownTeam)}

    @extend_schema(
        operation_id="oauth_clients_list",
        summary="List OAuth clients",
        description="Returns all clients, built-in ones too, without their secrets.",
        tags=_TAGS,
        parameters=[schemas.OAuthClientListQuery],
        responses=schemas.OAuthClientPage,
        examples=[examples.CLIENT_PAGE],
    )
    def get(self, request: Request) -> Response:
        query = schemas.OAuthClientListQuery.parse(request)
        rows = OAuthClient.objects.select_related("principal", "team")
        return page_response(
            request,
            paginate(request, rows.filter(query["q"]), order=query["sort"], query=query),
            schemas.show_client,
        )

    @extend_schema(
        operation_id="oauth_clients_create",
        summary="Create an OAuth client",
        description=(
            "A confidential client needs a secret: create one with"
            " `POST /api/v1/oauth-clients/{client_id}/secrets`."
        ),
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=schemas.OAuthClientWrite,
        responses={201: schemas.OAuthClientRead},
        examples=[examples.CLIENT_WRITE, examples.CLIENT],
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ReasonedQuery.parse(request)
        body = parse_body(schemas.OAuthClientWrite, request)
        is_public = body.pop("type") == "public"
        grants = ("authorization_code", "refresh_token") if is_public else ("client_credentials",)
        scopes = {"scopes": ("all",), "default_scopes": ("all",)}
        spec = ClientSpec(**{"is_public": is_public, "grants": grants, **scopes, **_members(body)})
        require_rights_of(spec.principal, caller_of(request))
        row = clients.create_client(spec, actor=actor_of(request, query["change_message"]))
        headers = {"Location": f"{request.path}/{row.client_id}", "ETag": version_etag(row.version)}
        return Response(schemas.show_client(row), status=201, headers=headers)


class ClientItem(Endpoint):
    actions = {"GET": Action.ACCESS_READ, "PATCH": Action.ACCESS_WRITE, "DELETE": Action.ACCESS_WRITE}
    problems = {
        "PATCH": (errors.SourceIsReadOnly, errors.UnknownPrincipal, errors.UnknownTeam),
        "DELETE": (errors.SourceIsReadOnly,),
    }
    has_versions = True

    @extend_schema(
        operation_id="oauth_clients_get",
        summary="Get one OAuth client",
        description="The response has an ETag; send it as `If-Match` to update or delete the client.",
        tags=_TAGS,
        responses=schemas.OAuthClientRead,
        examples=[examples.CLIENT],
    )
    def get(self, request: Request, client_id: str) -> Response:
        Query.parse(request)
        row = clients.get_client(client_id)
        return respond(request, schemas.show_client(row), etag=version_etag(row.version))

    @extend_schema(
        operation_id="oauth_clients_patch",
        summary="Update an OAuth client",
        description=(
            "Changes the given fields. Requires `If-Match` with the client's ETag. A disabled client loses"
            " its tokens immediately. Built-in clients, and those from files, cannot be changed."
        ),
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=schemas.OAuthClientPatch,
        responses=schemas.OAuthClientRead,
        examples=[examples.CLIENT_PATCH, examples.CLIENT],
    )
    @mutation
    def patch(self, request: Request, client_id: str) -> Response:
        query = ReasonedQuery.parse(request)
        body = _members(parse_body(schemas.OAuthClientPatch, request))
        require_rights_of(body.get("principal", ""), caller_of(request))
        row = clients.change_client(
            client_id,
            body,
            actor=actor_of(request, query["change_message"]),
            precondition=parse_precondition(request),
        )
        return Response(schemas.show_client(row), headers={"ETag": version_etag(row.version)})

    @extend_schema(
        operation_id="oauth_clients_delete",
        summary="Delete an OAuth client",
        description="Revokes all its tokens immediately. Requires `If-Match` with the client's ETag.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, client_id: str) -> Response:
        query = ReasonedQuery.parse(request)
        clients.delete_client(
            client_id,
            actor=actor_of(request, query["change_message"]),
            precondition=parse_precondition(request),
        )
        return Response(status=204)


class SecretCollection(Endpoint):
    actions = {"GET": Action.ACCESS_READ, "POST": Action.ACCESS_WRITE}

    @extend_schema(
        operation_id="oauth_client_secrets_list",
        summary="List the secrets of an OAuth client",
        description="Returns when each secret was created, expires and was last used, but never the secret.",
        tags=_TAGS,
        parameters=[PageQuery],
        responses=schemas.ClientSecretPage,
        examples=[examples.SECRET_PAGE],
    )
    def get(self, request: Request, client_id: str) -> Response:
        query = PageQuery.parse(request)
        rows = ClientSecret.objects.filter(client=clients.get_client(client_id))
        return page_response(
            request, paginate(request, rows, order=("id",), query=query), schemas.show_secret
        )

    @extend_schema(
        operation_id="oauth_client_secrets_create",
        summary="Create a secret of an OAuth client",
        description=(
            "Only this response contains the secret. A client can have two valid secrets, so that the old"
            " one can be revoked after the new one is in use everywhere."
        ),
        tags=_TAGS,
        parameters=[MutationQuery],
        request=schemas.ClientSecretWrite,
        responses={201: schemas.CreatedClientSecret},
        examples=[examples.SECRET_WRITE, examples.NEW_SECRET],
    )
    @mutation
    def post(self, request: Request, client_id: str) -> Response:
        MutationQuery.parse(request)
        body = parse_body(schemas.ClientSecretWrite, request)
        client = clients.get_client(client_id)
        require_rights_of(client.principal.name if client.principal else "", caller_of(request))
        row, secret = client_secrets.create_secret(client, body.get("expires_at"), actor=actor_of(request))
        response = Response(schemas.show_secret(row) | {"secret": secret}, status=201)
        # The response to a repeated request is stored in a plain column.
        response.replayed_body = schemas.show_secret(row) | {"secret": None}  # type: ignore[attr-defined]  # endpoints.py
        return response


class SecretItem(Endpoint):
    actions = {"DELETE": Action.ACCESS_WRITE}

    @extend_schema(
        operation_id="oauth_client_secrets_revoke",
        summary="Revoke a secret of an OAuth client",
        description="The secret stops working immediately. Issued tokens stay valid until they expire.",
        tags=_TAGS,
        parameters=[MutationQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, client_id: str, secret_id: UUID) -> Response:
        MutationQuery.parse(request)
        client_secrets.revoke_secret(clients.get_client(client_id), secret_id, actor=actor_of(request))
        return Response(status=204)


def _members(body: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a spec: lists without repetitions."""
    return {name: tuple(dict.fromkeys(value)) if name in _LISTS else value for name, value in body.items()}
