"""Doors to data planes, and what they are given."""

from __future__ import annotations

from http import HTTPStatus

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.bodies import MEDIA_TYPE
from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.etags import parse_precondition, respond, version_etag
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import PageQuery, page_response, paginate
from controlplane.endpoints.events.watch_header import hand_over
from controlplane.events.log import last_number
from controlplane.identity.roles import Action
from registry.agent_configs.bundles.conditions import AckState
from registry.agent_configs.delivery.acknowledgements import AckError, Acknowledgement, acknowledge
from registry.agent_configs.delivery.data_planes import (
    Described,
    Format,
    approve,
    configuration,
    delete_plane,
    etag_of,
    get_followed_plane,
    get_plane,
    put_plane,
)
from registry.agent_configs.delivery.long_poll import next_bundle
from registry.agent_configs.delivery.signatures import repr_digest, signatures
from registry.agent_configs.documents.dialects import Dialect
from registry.agent_configs.models import DataPlane
from registry.agent_configs.publishing.teams import check_sees_all
from registry.agent_configs.storage.team_parts import held_teams
from registry.api.agent_configs import data_plane_schemas as shapes
from registry.api.agent_configs import examples

_TAGS = ["data planes"]


class DataPlaneCollection(Endpoint):
    actions = {"GET": Action.AGENT_CONFIG_READ}

    @extend_schema(
        operation_id="data_planes_list",
        summary="List data planes",
        description="Each data plane with the revision it should serve and the one it reported as applied.",
        tags=_TAGS,
        parameters=[PageQuery],
        responses=shapes.DataPlanePage,
        examples=examples.PLANES,
    )
    def get(self, request: Request) -> Response:
        query = PageQuery.parse(request)
        check_sees_all(caller_of(request))
        page = paginate(request, DataPlane.objects.all(), order=("name",), query=query)
        held = held_teams(page.items)
        return page_response(request, page, lambda one: shapes.show_plane(one, held.get(one.name, ())))


class DataPlaneItem(Endpoint):
    actions = {
        "GET": Action.AGENT_CONFIG_READ,
        "PUT": Action.AGENT_CONFIG_RULE,
        "DELETE": Action.AGENT_CONFIG_RULE,
    }
    has_versions = True

    @extend_schema(
        operation_id="data_planes_get",
        summary="Get one data plane",
        description="The ETag is of its description; how far it got changes without it.",
        tags=_TAGS,
        responses=shapes.DataPlaneRead,
        examples=examples.PLANE,
    )
    def get(self, request: Request, name: str) -> Response:
        Query.parse(request)
        check_sees_all(caller_of(request))
        return _answer(get_plane(name))

    @extend_schema(
        operation_id="data_planes_put",
        summary="Create or replace a data plane",
        description="Its bundle is made at once.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=shapes.DataPlaneWrite,
        responses={200: shapes.DataPlaneRead, 201: shapes.DataPlaneRead},
        examples=examples.PLANE_PUT,
    )
    @mutation
    def put(self, request: Request, name: str) -> Response:
        query = ReasonedQuery.parse(request)
        said = parse_body(shapes.DataPlaneWrite, request)
        lists = {field: tuple(value) for field, value in said.items() if isinstance(value, list)}
        wanted = Described(**{**said, **lists, "dialect": Dialect(said["dialect"])})
        plane, created = put_plane(
            name,
            wanted,
            actor=actor_of(request, query["change_message"]),
            precondition=parse_precondition(request),
        )
        return _answer(plane, status=201 if created else 200)

    @extend_schema(
        operation_id="data_planes_delete",
        summary="Delete a data plane",
        description="Its bundles and what is remembered of claims in it go with it.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, name: str) -> Response:
        query = ReasonedQuery.parse(request)
        actor = actor_of(request, query["change_message"])
        delete_plane(name, actor=actor, precondition=parse_precondition(request))
        return Response(status=204)


class DataPlaneConfig(Endpoint):
    actions = {"GET": Action.DATA_PLANE_FOLLOW}

    @extend_schema(
        operation_id="data_planes_config",
        summary="Get the active configuration of a data plane",
        description=(
            "One complete document. Ask again with If-None-Match: 304 costs almost nothing, and with `wait` "
            "it comes only when the time is over, or something about the data plane changed.\n\n"
            "`Repr-Digest` (RFC 9530) is of the bytes as they are served. If keys are set, "
            "`X-Config-Signature` has an Ed25519 signature by each, by the key's id."
        ),
        tags=_TAGS,
        parameters=[
            shapes.ConfigQuery,
            OpenApiParameter("If-None-Match", str, OpenApiParameter.HEADER, required=False),
        ],
        responses={
            (200, MEDIA_TYPE): {"type": "object", "additionalProperties": True},
            (200, "application/json"): {"type": "object", "additionalProperties": True},
        },
        examples=examples.CONFIG,
    )
    def get(self, request: Request, name: str) -> HttpResponseBase:
        query = shapes.ConfigQuery.parse(request)
        wanted, caller = Format(query["format"]), caller_of(request)
        # Read before the data plane is: what happens meanwhile ends the waiting at once.
        seen = last_number() if query["wait"] else 0
        plane = get_followed_plane(name, caller)
        answer = respond(request, None, etag=etag_of(plane, wanted))
        if answer.status_code == HTTPStatus.NOT_MODIFIED:
            if query["wait"]:
                watch = next_bundle(plane.name, caller, after=seen, seconds=query["wait"])
                hand_over(watch, request.headers, answer)
            return answer
        return _configuration(plane, wanted)


class DataPlaneAcks(Endpoint):
    actions = {"POST": Action.DATA_PLANE_FOLLOW}

    @extend_schema(
        operation_id="data_planes_acknowledge",
        summary="Acknowledge a revision",
        description=(
            "A rejected revision is not served again: the one that was applied last comes back in force, the "
            "document to blame is found and given as it was before. A word about a revision that is no "
            "longer in force changes nothing."
        ),
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=shapes.AckWrite,
        responses=shapes.DataPlaneRead,
        examples=examples.ACK,
    )
    @mutation
    def post(self, request: Request, name: str) -> Response:
        query = ReasonedQuery.parse(request)
        get_followed_plane(name, caller_of(request))
        said = parse_body(shapes.AckWrite, request)
        errors = tuple(AckError(**one) for one in said["errors"])
        word = Acknowledgement(said["revision"], AckState(said["status"]), said["sha256"], errors)
        return _answer(acknowledge(name, word, actor=actor_of(request, query["change_message"])))


class ApproveBundle(Endpoint):
    actions = {"POST": Action.AGENT_CONFIG_RULE}

    @extend_schema(
        operation_id="data_planes_approve",
        summary="Approve a held bundle",
        description=(
            "Releases the bundle that a gate holds. Send the digest of the held bundle; a newer one is not "
            "approved by it."
        ),
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=shapes.ApprovalWrite,
        responses=shapes.DataPlaneRead,
        examples=examples.APPROVAL,
    )
    @mutation
    def post(self, request: Request, name: str) -> Response:
        query = ReasonedQuery.parse(request)
        said = parse_body(shapes.ApprovalWrite, request)
        return _answer(approve(name, said["digest"], actor=actor_of(request, query["change_message"])))


def _configuration(plane: DataPlane, wanted: Format) -> HttpResponse:
    found = configuration(plane, wanted)
    body = found.body.encode()
    headers = {
        "ETag": found.etag,
        "Cache-Control": "private, no-cache",
        "X-Config-Revision": str(found.revision),
        "X-Config-Digest": found.digest,
        "Repr-Digest": repr_digest(body),
    }
    if signed := signatures(plane.name, found.revision, body):
        headers["X-Config-Signature"] = signed
    kind = "application/json" if wanted is Format.JSON else MEDIA_TYPE
    return HttpResponse(body, content_type=kind, headers=headers)


def _answer(plane: DataPlane, status: int = 200) -> Response:
    headers = {"ETag": version_etag(plane.version)}
    held = held_teams([plane]).get(plane.name, ())
    return Response(shapes.show_plane(plane, held), status=status, headers=headers)
