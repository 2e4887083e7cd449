"""HTTP endpoints for identity providers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.access.login.oidc import providers
from controlplane.access.login.oidc.provider_trial import try_claims, try_token
from controlplane.api.endpoints import Endpoint, MutationQuery, actor_of, mutation
from controlplane.api.etags import parse_precondition, respond, version_etag
from controlplane.api.fields import Query, parse_body
from controlplane.endpoints.access.login import examples, schemas
from controlplane.errors import FieldError, InvalidRequest
from controlplane.identity.roles import Action

_TAGS = ["access"]


class IdentityProviderCollection(Endpoint):
    actions = {"GET": Action.ACCESS_READ}

    @extend_schema(
        operation_id="identity_providers_list",
        summary="List identity providers",
        description="OpenID providers at which people log in to the console, without their secrets.",
        tags=_TAGS,
        responses=schemas.IdentityProviderPage,
        examples=[examples.PROVIDERS],
    )
    def get(self, request: Request) -> Response:
        Query.parse(request)
        items = [
            schemas.show_provider(*providers.get_provider(provider.slug))
            for provider in providers.all_providers()
        ]
        return Response({"items": items, "next_cursor": None})


class IdentityProviderItem(Endpoint):
    actions = {"GET": Action.ACCESS_READ, "PUT": Action.ACCESS_WRITE, "DELETE": Action.ACCESS_WRITE}
    problems = {
        "PUT": (errors.InvalidIdentityProvider, errors.SettingIsReadOnly, errors.SecretsUnavailable),
        "DELETE": (errors.SettingIsReadOnly,),
    }
    has_versions = True

    @extend_schema(
        operation_id="identity_providers_get",
        summary="Get one identity provider",
        description="Returns an ETag; send it as `If-Match` to change or delete the provider.",
        tags=_TAGS,
        responses=schemas.IdentityProviderRead,
        examples=[examples.PROVIDER],
    )
    def get(self, request: Request, slug: str) -> Response:
        Query.parse(request)
        provider, version = providers.get_provider(slug)
        return respond(request, schemas.show_provider(provider, version), etag=version_etag(version))

    @extend_schema(
        operation_id="identity_providers_put",
        summary="Create or replace an identity provider",
        description=(
            "People can log in at the provider at once. Register `PUBLIC_URL/callback` as redirect URI there,"
            " `PUBLIC_URL/logout` as post-logout redirect URI, and `PUBLIC_URL/oidc/backchannel-logout` for"
            " back-channel logout. Private addresses must be allowed with OUTGOING_ALLOWED_NETWORKS."
        ),
        tags=_TAGS,
        parameters=[MutationQuery],
        request=schemas.IdentityProviderWrite,
        responses={200: schemas.IdentityProviderRead, 201: schemas.IdentityProviderRead},
        examples=[examples.PROVIDER_WRITE, examples.PROVIDER],
    )
    @mutation
    def put(self, request: Request, slug: str) -> Response:
        MutationQuery.parse(request)
        body = parse_body(schemas.IdentityProviderWrite, request)
        secret = body.pop("client_secret", None)
        row, is_new = providers.put_provider(
            {**body, "slug": slug},
            secret,
            precondition=parse_precondition(request),
            actor=actor_of(request),
        )
        content = schemas.show_provider(providers.provider_of(row), row.version)
        headers = {"ETag": version_etag(row.version)}
        return Response(content, status=201 if is_new else 200, headers=headers)

    @extend_schema(
        operation_id="identity_providers_delete",
        summary="Delete an identity provider",
        description="Sessions of logins at the provider end. People and their identities remain.",
        tags=_TAGS,
        parameters=[MutationQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, slug: str) -> Response:
        MutationQuery.parse(request)
        providers.delete_provider(slug, precondition=parse_precondition(request), actor=actor_of(request))
        return Response(status=204)


class IdentityProviderTest(Endpoint):
    actions = {"POST": Action.ACCESS_READ}
    # A stored digest of the body would help to guess the token in it.
    takes_keys = False

    @extend_schema(
        operation_id="identity_providers_test",
        summary="Test the rules of an identity provider",
        description=(
            "Explains which rules match a token or claims, and whether the person could log in. Stores"
            " nothing. Send either `token` or `claims`."
        ),
        tags=_TAGS,
        request=schemas.ProviderTestWrite,
        responses={200: schemas.ProviderTestRead},
        examples=[examples.TEST_WRITE, examples.TEST],
    )
    @mutation
    def post(self, request: Request, slug: str) -> Response:
        Query.parse(request)
        provider, _ = providers.get_provider(slug)
        body = parse_body(schemas.ProviderTestWrite, request)
        if ("token" in body) == ("claims" in body):
            message = "Send either `token` or `claims`."
            raise InvalidRequest(message, errors=[FieldError("", "required", message)])
        trial = (
            try_token(provider, body["token"]) if "token" in body else try_claims(provider, body["claims"])
        )
        content: dict[str, Any] = asdict(trial)
        return Response({**content, "matches": [schemas.show_match(match) for match in trial.matches]})
