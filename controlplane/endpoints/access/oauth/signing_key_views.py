"""HTTP endpoints for the keys that sign JWTs."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.access.oauth import signing_keys
from controlplane.access.oauth.models import SigningKey
from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, mutation
from controlplane.api.pages import PageQuery, page_response, paginate
from controlplane.endpoints.access.oauth import examples, schemas
from controlplane.identity.roles import Action

_TAGS = ["access"]


class SigningKeyCollection(Endpoint):
    actions = {"GET": Action.ACCESS_READ}

    @extend_schema(
        operation_id="signing_keys_list",
        summary="List signing keys",
        description="Their public parts are at `/oauth2/jwks`. No key exists until a JWT is signed.",
        tags=_TAGS,
        parameters=[PageQuery],
        responses=schemas.SigningKeyPage,
        examples=[examples.KEY_PAGE],
    )
    def get(self, request: Request) -> Response:
        query = PageQuery.parse(request)
        page = paginate(request, SigningKey.objects.all(), order=("id",), query=query)
        return page_response(request, page, schemas.show_signing_key)


class SigningKeysRotate(Endpoint):
    actions = {"POST": Action.ACCESS_WRITE}
    problems = {"POST": (errors.SecretsUnavailable,)}

    @extend_schema(
        operation_id="signing_keys_rotate",
        summary="Rotate the signing keys",
        description=(
            "The next key signs from now on, and a new next key is published. Signatures of the retired key"
            " stay valid until its last token has expired."
        ),
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=None,
        responses=schemas.SigningKeyRead,
        examples=[examples.KEY],
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ReasonedQuery.parse(request)
        key = signing_keys.rotate(actor=actor_of(request, query["change_message"]))
        return Response(schemas.show_signing_key(key))
