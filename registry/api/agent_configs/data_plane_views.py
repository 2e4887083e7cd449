"""HTTP endpoints for data planes and their configurations."""

from __future__ import annotations

from http import HTTPStatus

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.bodies import MEDIA_TYPE
from controlplane.api.endpoints import OF_LISTS, Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.etags import parse_precondition, respond, version_etag
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.endpoints.events.watch_header import hand_over
from controlplane.events.log import last_number
from controlplane.identity.roles import Action
from registry.agent_configs.bundles.conditions import AckState
from registry.agent_configs.delivery.acknowledgements import AckError, Acknowledgement, acknowledge
from registry.agent_configs.delivery.data_planes import (
    DataPlaneSpec,
    Format,
    approve,
    configuration_etag,
    delete_plane,
    find_team,
    get_configuration,
    put_plane,
)
from registry.agent_configs.delivery.long_poll import watch_data_plane
from registry.agent_configs.delivery.plane_access import (
    check_contents,
    check_may_put,
    get_followed_plane,
    get_readable_plane,
    get_ruled_plane,
    readable_planes,
)
from registry.agent_configs.delivery.signatures import digest_headers, signature_headers
from registry.agent_configs.documents.dialects import Dialect
from registry.agent_configs.models import DataPlane
from registry.agent_configs.storage.team_parts import load_held_teams
from registry.api.agent_configs import data_plane_schemas as schemas
from registry.api.agent_configs import examples

_TAGS = ["data planes"]


class DataPlaneCollection(Endpoint):
    actions = {"GET": Action.AGENT_CONFIG_READ}
    staleness = OF_LISTS

    @extend_schema(
        operation_id="data_planes_list",
        summary="List data planes",
        description="Shows for each data plane the active revision and the one it reported as applied.",
        tags=_TAGS,
        parameters=[schemas.DataPlaneListQuery],
        responses=schemas.DataPlanePage,
        examples=examples.PLANES,
    )
    def get(self, request: Request) -> Response:
        query, caller = schemas.DataPlaneListQuery.parse(request), caller_of(request)
        page = paginate(request, readable_planes(caller).filter(query["q"]), order=query["sort"], query=query)
        teams_by_plane = load_held_teams(page.items)
        return page_response(
            request,
            page,
            lambda plane: schemas.show_plane_to(caller, plane, teams_by_plane.get(plane.name, ())),
        )


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
        description="The ETag covers the spec only; progress changes without it.",
        tags=_TAGS,
        responses=schemas.DataPlaneRead,
        examples=examples.PLANE,
    )
    def get(self, request: Request, name: str) -> Response:
        Query.parse(request)
        return _respond(get_readable_plane(name, caller_of(request)), request)

    @extend_schema(
        operation_id="data_planes_put",
        summary="Create or replace a data plane",
        description="The bundle of the data plane is computed at once.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=schemas.DataPlaneWrite,
        responses={200: schemas.DataPlaneRead, 201: schemas.DataPlaneRead},
        examples=examples.PLANE_PUT,
    )
    @mutation
    def put(self, request: Request, name: str) -> Response:
        query = ReasonedQuery.parse(request)
        body = parse_body(schemas.DataPlaneWrite, request)
        lists = {field: tuple(value) for field, value in body.items() if isinstance(value, list)}
        spec = DataPlaneSpec(
            **{"team": find_team(name), **body, **lists, "dialect": Dialect(body["dialect"])}
        )
        check_may_put(name, spec, caller_of(request))
        plane, created = put_plane(
            name,
            spec,
            actor=actor_of(request, query["change_message"]),
            precondition=parse_precondition(request),
        )
        return _respond(plane, request, status=201 if created else 200)

    @extend_schema(
        operation_id="data_planes_delete",
        summary="Delete a data plane",
        description="Also deletes its bundles and its history of claims.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, name: str) -> Response:
        query = ReasonedQuery.parse(request)
        actor = actor_of(request, query["change_message"])
        get_ruled_plane(name, caller_of(request))
        delete_plane(name, actor=actor, precondition=parse_precondition(request))
        return Response(status=204)


class DataPlaneConfig(Endpoint):
    actions = {"GET": Action.DATA_PLANE_FOLLOW}

    @extend_schema(
        operation_id="data_planes_config",
        summary="Get the active configuration of a data plane",
        description=(
            "Returns one complete document. Poll with `If-None-Match`: 304 is cheap, and with `wait` the "
            "response is delayed until the data plane changes or the time is over.\n\n"
            "`Content-Digest` and `Repr-Digest` (RFC 9530) cover the bytes as they are served. If keys are "
            "set, `Signature` and `Signature-Input` (RFC 9421) have an Ed25519 signature by each, labeled "
            "with the key's id. It covers status, path, content type, digest and revision."
        ),
        tags=_TAGS,
        parameters=[
            schemas.ConfigQuery,
            OpenApiParameter(
                "If-None-Match",
                str,
                OpenApiParameter.HEADER,
                required=False,
                description="ETag of your copy. The response is 304 if the copy is current.",
            ),
        ],
        responses={
            (200, MEDIA_TYPE): {"type": "object", "additionalProperties": True},
            (200, "application/json"): {"type": "object", "additionalProperties": True},
        },
        examples=examples.CONFIG,
    )
    def get(self, request: Request, name: str) -> HttpResponseBase:
        query = schemas.ConfigQuery.parse(request)
        config_format, caller = Format(query["format"]), caller_of(request)
        # Read before the data plane: a change in between ends the wait at once.
        last_event = last_number() if query["wait"] else 0
        plane = get_followed_plane(name, caller)
        answer = respond(request, None, etag=configuration_etag(plane, config_format))
        if answer.status_code == HTTPStatus.NOT_MODIFIED:
            if query["wait"]:
                watch = watch_data_plane(plane.name, caller, after=last_event, seconds=query["wait"])
                hand_over(watch, request.headers, answer)
            return answer
        return _respond_with_configuration(request.path, plane, config_format)


class DataPlaneAcks(Endpoint):
    actions = {"POST": Action.DATA_PLANE_FOLLOW}

    @extend_schema(
        operation_id="data_planes_acknowledge",
        summary="Acknowledge a revision",
        description=(
            "A rejected revision is not served again: the last applied revision becomes active, and the "
            "faulty document is found and quarantined. Acknowledging a revision that is no longer active "
            "changes nothing."
        ),
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=schemas.AckWrite,
        responses=schemas.DataPlaneRead,
        examples=examples.ACK,
    )
    @mutation
    def post(self, request: Request, name: str) -> Response:
        query = ReasonedQuery.parse(request)
        get_followed_plane(name, caller_of(request))
        body = parse_body(schemas.AckWrite, request)
        errors = tuple(AckError(**error) for error in body["errors"])
        word = Acknowledgement(body["revision"], AckState(body["status"]), body["sha256"], errors)
        return _respond(acknowledge(name, word, actor=actor_of(request, query["change_message"])), request)


class ApproveBundle(Endpoint):
    actions = {"POST": Action.AGENT_CONFIG_RULE}

    @extend_schema(
        operation_id="data_planes_approve",
        summary="Approve a held bundle",
        description=(
            "Releases the bundle or team change that a gate holds. Send its digest; the approval does not "
            "cover later changes."
        ),
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=schemas.ApprovalWrite,
        responses=schemas.DataPlaneRead,
        examples=examples.APPROVAL,
    )
    @mutation
    def post(self, request: Request, name: str) -> Response:
        query = ReasonedQuery.parse(request)
        body = parse_body(schemas.ApprovalWrite, request)
        caller = caller_of(request)
        check_contents(get_ruled_plane(name, caller), caller)
        plane = approve(name, body["digest"], actor=actor_of(request, query["change_message"]))
        return _respond(plane, request)


def _respond_with_configuration(path: str, plane: DataPlane, config_format: Format) -> HttpResponse:
    document = get_configuration(plane, config_format)
    body = document.body.encode()
    headers = {
        "Content-Type": "application/json" if config_format is Format.JSON else MEDIA_TYPE,
        "ETag": document.etag,
        "Cache-Control": "private, no-cache",
        "X-Config-Revision": str(document.revision),
        "X-Config-Digest": document.digest,
        **digest_headers(body),
    }
    return HttpResponse(body, headers={**headers, **signature_headers(path, headers)})


def _respond(plane: DataPlane, request: Request, status: int = 200) -> Response:
    headers = {"ETag": version_etag(plane.version)}
    teams = load_held_teams([plane]).get(plane.name, ())
    shown = schemas.show_plane_to(caller_of(request), plane, teams)
    return Response(shown, status=status, headers=headers)
