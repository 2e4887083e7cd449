"""Doors to data planes and their bundles."""

from __future__ import annotations

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.access.callers import Caller
from controlplane.access.roles import Action
from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.etags import parse_precondition, respond, version_etag
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import PageQuery, page_response, paginate
from controlplane.api.yaml_body import MEDIA_TYPE
from controlplane.errors import PermissionDenied, UnknownBundle
from registry.agent_configs.conditions import AckState
from registry.agent_configs.dialects import Dialect
from registry.agent_configs.differences import difference, summary
from registry.publishing import stored
from registry.publishing.acks import AckError, Acknowledgement, acknowledge
from registry.publishing.api import examples
from registry.publishing.api import plane_shapes as shapes
from registry.publishing.planes import (
    Described,
    Format,
    approve,
    check_may_follow,
    configuration,
    delete_plane,
    etag_of,
    get_plane,
    put_plane,
)
from registry.publishing.rows import AgentConfigBundle, DataPlane
from registry.publishing.teams import hidden_teams

_TAGS = ["data planes"]


class DataPlaneCollection(Endpoint):
    actions = {"GET": Action.AGENT_CONFIG_READ}

    @extend_schema(
        operation_id="data_planes_list",
        summary="List data planes, and how far each one got",
        tags=_TAGS,
        parameters=[PageQuery],
        responses=shapes.DataPlanePage,
        examples=examples.PLANES,
    )
    def get(self, request: Request) -> Response:
        query = PageQuery.parse(request)
        _check_sees_all(caller_of(request))
        page = paginate(request, DataPlane.objects.all(), order=("name",), query=query)
        return page_response(request, page, shapes.show_plane)


class DataPlaneItem(Endpoint):
    actions = {
        "GET": Action.AGENT_CONFIG_READ,
        "PUT": Action.AGENT_CONFIG_RULE,
        "DELETE": Action.AGENT_CONFIG_RULE,
    }
    has_versions = True

    @extend_schema(
        operation_id="data_planes_get",
        summary="Read one data plane",
        description="The ETag is of its description; how far it got changes without it.",
        tags=_TAGS,
        responses=shapes.DataPlaneRead,
        examples=examples.PLANE,
    )
    def get(self, request: Request, name: str) -> Response:
        Query.parse(request)
        _check_sees_all(caller_of(request))
        return _answer(get_plane(name))

    @extend_schema(
        operation_id="data_planes_put",
        summary="Register a data plane, or describe it otherwise",
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
        summary="Serve a data plane no more",
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
        summary="The configuration that is in force",
        description=(
            "One complete document. Ask again with If-None-Match: 304 costs almost nothing. To learn of a "
            "new one at once, follow the events `agent_config_bundle.activated`."
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
        wanted = Format(shapes.ConfigQuery.parse(request)["format"])
        plane = get_plane(name)
        check_may_follow(caller_of(request), plane)
        answer = respond(request, None, etag=etag_of(plane, wanted))
        if answer.status_code == 304:
            return answer
        found = configuration(plane, wanted)
        headers = {
            "ETag": found.etag,
            "Cache-Control": "private, no-cache",
            "X-Config-Revision": str(found.revision),
            "X-Config-Digest": found.digest,
        }
        kind = "application/json" if wanted is Format.JSON else MEDIA_TYPE
        return HttpResponse(found.body, content_type=kind, headers=headers)


class DataPlaneAcks(Endpoint):
    actions = {"POST": Action.DATA_PLANE_FOLLOW}

    @extend_schema(
        operation_id="data_planes_acknowledge",
        summary="A data plane says how a revision went",
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
        check_may_follow(caller_of(request), get_plane(name))
        said = parse_body(shapes.AckWrite, request)
        errors = tuple(AckError(**one) for one in said["errors"])
        word = Acknowledgement(said["revision"], AckState(said["status"]), said["sha256"], errors)
        return _answer(acknowledge(name, word, actor=actor_of(request, query["change_message"])))


class ApproveBundle(Endpoint):
    actions = {"POST": Action.AGENT_CONFIG_RULE}

    @extend_schema(
        operation_id="data_planes_approve",
        summary="Let a bundle go that waits",
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


class BundleCollection(Endpoint):
    actions = {"GET": Action.AGENT_CONFIG_READ}

    @extend_schema(
        operation_id="agent_config_bundles_list",
        summary="List bundles, the newest first",
        tags=_TAGS,
        parameters=[shapes.BundleListQuery],
        responses=shapes.BundlePage,
        examples=examples.BUNDLES,
    )
    def get(self, request: Request) -> Response:
        query = shapes.BundleListQuery.parse(request)
        _check_sees_all(caller_of(request))
        rows = AgentConfigBundle.objects.defer("text", "body")
        if "data_plane" in query:
            rows = rows.filter(data_plane=query["data_plane"])
        page = paginate(request, rows, order=("-id",), query=query)
        return page_response(request, page, shapes.show_bundle_summary)


class BundleItem(Endpoint):
    actions = {"GET": Action.AGENT_CONFIG_READ}

    @extend_schema(
        operation_id="agent_config_bundles_get",
        summary="Read one bundle, with what took part and what did not",
        tags=_TAGS,
        responses=shapes.BundleRead,
        examples=examples.BUNDLE,
    )
    def get(self, request: Request, name: str, revision: int) -> Response:
        Query.parse(request)
        _check_sees_all(caller_of(request))
        return Response(shapes.show_bundle(_bundle(name, revision)))


class BundleDifference(Endpoint):
    actions = {"GET": Action.AGENT_CONFIG_READ}

    @extend_schema(
        operation_id="agent_config_bundles_diff",
        summary="What changed from one bundle to another",
        tags=_TAGS,
        responses=shapes.BundleDifferenceRead,
        examples=examples.BUNDLE_DIFFERENCE,
    )
    def get(self, request: Request, name: str, revision: int, other: int) -> Response:
        Query.parse(request)
        _check_sees_all(caller_of(request))
        before, after = (stored.read_bundle(_bundle(name, one).body) for one in (revision, other))
        found = difference(before, after)
        return Response({"changes": list(summary(found)), "restarts": list(found.restarts)})


def _answer(plane: DataPlane, status: int = 200) -> Response:
    headers = {"ETag": version_etag(plane.version)}
    return Response(shapes.show_plane(plane), status=status, headers=headers)


def _bundle(name: str, revision: int) -> AgentConfigBundle:
    # A path may say any number; Postgres counts revisions in 32 bits.
    known = revision < 2**31
    row = (
        AgentConfigBundle.objects.filter(data_plane=get_plane(name), revision=revision).first()
        if known
        else None
    )
    if row is None:
        raise UnknownBundle(f"There is no revision {revision} of {name}.")
    return row


def _check_sees_all(caller: Caller) -> None:
    """Bundles hold what all organisations publish."""
    if hidden_teams(caller):
        raise PermissionDenied(
            "Bundles hold documents of organisations that you do not publish for.",
            action=Action.AGENT_CONFIG_RULE.value,
        )
