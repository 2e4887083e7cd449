"""HTTP endpoints for tokens."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.access import issue_tokens, principals
from controlplane.access.issue_tokens import Issuer
from controlplane.access.issuers.external_tokens import ExternalToken
from controlplane.access.models import Token
from controlplane.access.token_lifetimes import Unspecified
from controlplane.api.endpoints import Endpoint, MutationQuery, actor_of, caller_of, mutation
from controlplane.api.fields import parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.endpoints.access import examples, schemas
from controlplane.endpoints.access.self_service import require_own_or
from controlplane.identity.roles import Action


class TokenCollection(Endpoint):
    actions = {"GET": Action.SELF_READ, "POST": Action.SELF_WRITE}
    problems = {"POST": (errors.UnknownPrincipal,)}

    @extend_schema(
        operation_id="tokens_list",
        summary="List tokens",
        description="Returns each token with its name, expiry and last use, without its secret.",
        tags=["access"],
        parameters=[schemas.TokenListQuery],
        responses=schemas.TokenPage,
        examples=[examples.TOKEN_PAGE],
    )
    def get(self, request: Request) -> Response:
        query = schemas.TokenListQuery.parse(request)
        owner = query.get("principal", caller_of(request).name)
        require_own_or(caller_of(request), Action.ACCESS_READ, owner)
        rows = Token.objects.filter(principal__name=owner).select_related("principal")
        return page_response(
            request,
            paginate(request, rows.filter(query["q"]), order=query["sort"], query=query),
            schemas.show_token,
        )

    @extend_schema(
        operation_id="tokens_create",
        summary="Create a token",
        description=(
            "Only this response contains the secret. Store it now; it cannot be retrieved later. A"
            " token that is created with another token expires no later than that token, and is"
            " revoked with it."
        ),
        tags=["access"],
        parameters=[MutationQuery],
        request=schemas.TokenWrite,
        responses={201: schemas.CreatedToken},
        examples=[examples.TOKEN_WRITE, examples.NEW_TOKEN],
    )
    @mutation
    def post(self, request: Request) -> Response:
        MutationQuery.parse(request)
        body = parse_body(schemas.TokenWrite, request)
        owner = body.get("principal", caller_of(request).name)
        require_own_or(caller_of(request), Action.ACCESS_WRITE, owner)
        token, secret = issue_tokens.issue_token(
            principals.get_principal(owner),
            body["name"],
            body.get("expires_at", Unspecified.EXPIRY),
            issuer=issuer_of(request),
            actor=actor_of(request),
        )
        response = Response(schemas.show_token(token) | {"token": secret}, status=201)
        # The response to a repeated request is stored in a plain column.
        response.replayed_body = schemas.show_token(token) | {"token": None}  # type: ignore[attr-defined]  # endpoints.py
        return response


class TokenItem(Endpoint):
    actions = {"DELETE": Action.SELF_WRITE}

    @extend_schema(
        operation_id="tokens_revoke",
        summary="Revoke a token",
        description=(
            "The token and all tokens that were created with it stop working immediately. Revoking a"
            " revoked token changes nothing."
        ),
        tags=["access"],
        parameters=[MutationQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, token_id: UUID) -> Response:
        MutationQuery.parse(request)
        caller = caller_of(request)
        may_revoke_all = caller.verdict(Action.ACCESS_WRITE).allowed
        issue_tokens.revoke_token(
            token_id, of=None if may_revoke_all else caller.principal_id, actor=actor_of(request)
        )
        return Response(status=204)


def issuer_of(request: Request) -> Issuer:
    """Return the caller of this request with the token in use."""
    token = request.auth
    if isinstance(token, ExternalToken):
        return Issuer(caller_of(request), ends_at=token.expires_at)
    return Issuer(caller_of(request), token.id if isinstance(token, Token) else None)
