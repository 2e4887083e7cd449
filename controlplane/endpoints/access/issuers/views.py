"""HTTP endpoints for trusted issuers."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.access.federation.explain import explain
from controlplane.access.federation.trusted_issuers import (
    create_trusted_issuer,
    delete_trusted_issuer,
    get_trusted_issuer,
    replace_trusted_issuer,
)
from controlplane.access.issuer_models import TrustedIssuer
from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, mutation
from controlplane.api.etags import parse_precondition, respond, version_etag
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.endpoints.access.issuers import examples, schemas
from controlplane.identity.roles import Action

_TAGS = ["access"]


class TrustedIssuerCollection(Endpoint):
    actions = {"GET": Action.ACCESS_READ, "POST": Action.ACCESS_WRITE}

    @extend_schema(
        operation_id="trusted_issuers_list",
        summary="List trusted issuers",
        description="Workloads exchange tokens of these issuers for tokens of the control plane.",
        tags=_TAGS,
        parameters=[schemas.TrustedIssuerListQuery],
        responses=schemas.TrustedIssuerPage,
        examples=[examples.ISSUER_PAGE],
    )
    def get(self, request: Request) -> Response:
        query = schemas.TrustedIssuerListQuery.parse(request)
        page = paginate(request, TrustedIssuer.objects.filter(query["q"]), order=query["sort"], query=query)
        return page_response(request, page, schemas.show_issuer)

    @extend_schema(
        operation_id="trusted_issuers_create",
        summary="Create a trusted issuer",
        description="Each rule must name the workloads that it trusts. A rule for GitHub Actions matches"
        " exactly one repository, and its `ref`, `environment` or `job_workflow_ref`.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=schemas.TrustedIssuerWrite,
        responses={201: schemas.TrustedIssuerRead},
        examples=[examples.ISSUER_WRITE, examples.ISSUER],
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ReasonedQuery.parse(request)
        spec = schemas.issuer_spec(parse_body(schemas.TrustedIssuerWrite, request))
        issuer = create_trusted_issuer(spec, actor=actor_of(request, query["change_message"]))
        headers = {"Location": f"{request.path}/{issuer.id}", "ETag": version_etag(issuer.version)}
        return Response(schemas.show_issuer(issuer), status=201, headers=headers)


class TrustedIssuerItem(Endpoint):
    actions = {"GET": Action.ACCESS_READ, "PUT": Action.ACCESS_WRITE, "DELETE": Action.ACCESS_WRITE}
    problems = {"PUT": (errors.NameTaken,)}
    has_versions = True

    @extend_schema(
        operation_id="trusted_issuers_get",
        summary="Get one trusted issuer",
        description="The response has an ETag; send it as `If-Match` to replace or delete the issuer.",
        tags=_TAGS,
        responses=schemas.TrustedIssuerRead,
        examples=[examples.ISSUER],
    )
    def get(self, request: Request, issuer_id: UUID) -> Response:
        Query.parse(request)
        issuer = get_trusted_issuer(issuer_id)
        return respond(request, schemas.show_issuer(issuer), etag=version_etag(issuer.version))

    @extend_schema(
        operation_id="trusted_issuers_put",
        summary="Replace a trusted issuer",
        description="Tokens that were issued by the former rules stay valid until they expire, within an"
        " hour. Requires `If-Match` with the issuer's ETag.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=schemas.TrustedIssuerWrite,
        responses=schemas.TrustedIssuerRead,
        examples=[examples.ISSUER_WRITE, examples.ISSUER],
    )
    @mutation
    def put(self, request: Request, issuer_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        spec = schemas.issuer_spec(parse_body(schemas.TrustedIssuerWrite, request))
        issuer = replace_trusted_issuer(
            issuer_id,
            spec,
            actor=actor_of(request, query["change_message"]),
            precondition=parse_precondition(request),
        )
        return Response(schemas.show_issuer(issuer), headers={"ETag": version_etag(issuer.version)})

    @extend_schema(
        operation_id="trusted_issuers_delete",
        summary="Delete a trusted issuer",
        description="Its tokens are refused at once. Tokens that they were exchanged for stay valid until"
        " they expire, within an hour. Requires `If-Match` with the issuer's ETag.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, issuer_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        actor = actor_of(request, query["change_message"])
        delete_trusted_issuer(issuer_id, actor=actor, precondition=parse_precondition(request))
        return Response(status=204)


class TrustedIssuerTest(Endpoint):
    actions = {"POST": Action.ACCESS_READ}
    problems = {"POST": (errors.IssuerUnavailable,)}
    # The body is a secret.
    takes_keys = False

    @extend_schema(
        operation_id="trusted_issuers_test",
        summary="Explain how a token would be judged",
        description="Returns which rule matches, and which claims the others missed. The token is neither"
        " stored nor used.",
        tags=_TAGS,
        request=schemas.IssuerTokenWrite,
        responses={200: schemas.TokenExplanationRead},
        examples=[examples.TOKEN, examples.EXPLANATION],
    )
    @mutation
    def post(self, request: Request) -> Response:
        Query.parse(request)
        body = parse_body(schemas.IssuerTokenWrite, request)
        return Response(schemas.show_explanation(explain(body["token"])))
