"""HTTP endpoints of installed plugins: the list, the lock, and the archives that clients fetch."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import BinaryIO

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, caller_of
from controlplane.api.etags import respond
from controlplane.api.pages import page_response, paginate
from controlplane.identity.roles import Action
from registry.api.plugins import config_schemas
from registry.api.plugins import plugin_schemas as schemas
from registry.api.plugins import release_examples as examples
from registry.api.plugins.byte_ranges import Part, answer_headers, requested_part
from registry.plugin_releases import listing
from registry.plugin_releases.content_store import content_store
from registry.plugin_releases.node_installation import usable_artifact
from registry.plugin_releases.plugin_sets import find_team

_TAGS = ["plugins"]
_CHUNK = 256 * 1024


class PluginCollection(Endpoint):
    actions = {"GET": Action.PLUGIN_READ}
    problems = {"GET": (errors.UnknownTeam,)}

    @extend_schema(
        operation_id="plugins_list",
        summary="List plugins",
        description="The plugins of the active releases that you may read, by name.",
        tags=_TAGS,
        parameters=[config_schemas.PluginListQuery],
        responses=schemas.PluginPage,
        examples=[examples.PLUGINS],
    )
    def get(self, request: Request) -> Response:
        query = config_schemas.PluginListQuery.parse(request)
        caller = caller_of(request)
        rows = listing.active_plugins(caller)
        if query.get("team"):
            rows = rows.filter(release__plugin_set__team=find_team(caller, query["team"], Action.PLUGIN_READ))
        page = paginate(request, rows.filter(query["q"]), order=query["sort"], query=query)
        shown = iter(schemas.show_plugins(page.items, caller))
        return page_response(request, page, lambda _: next(shown))


class PluginItem(Endpoint):
    actions = {"GET": Action.PLUGIN_READ}
    problems = {"GET": (errors.UnknownTeam, errors.UnknownPlugin)}

    @extend_schema(
        operation_id="plugins_get",
        summary="Get a plugin",
        description="As the active release has it.",
        tags=_TAGS,
        parameters=[config_schemas.TeamQuery],
        responses=schemas.PluginRead,
        examples=[examples.PLUGIN],
    )
    def get(self, request: Request, name: str) -> Response:
        query = config_schemas.TeamQuery.parse(request)
        caller = caller_of(request)
        team = find_team(caller, query["team"], Action.PLUGIN_READ)
        row = listing.get_plugin(caller, team, name)
        (shown,) = schemas.show_plugins([row], caller)
        return Response(shown)


class PluginVersionItem(Endpoint):
    actions = {"GET": Action.PLUGIN_READ}
    problems = {"GET": (errors.UnknownTeam, errors.UnknownPlugin)}

    @extend_schema(
        operation_id="plugins_version",
        summary="Get a version of a plugin",
        description="As the newest release with this version has it, also if it is not active any more.",
        tags=_TAGS,
        parameters=[config_schemas.TeamQuery],
        responses=schemas.PluginRead,
        examples=[examples.PLUGIN],
    )
    def get(self, request: Request, name: str, version: str) -> Response:
        query = config_schemas.TeamQuery.parse(request)
        caller = caller_of(request)
        team = find_team(caller, query["team"], Action.PLUGIN_READ)
        row = listing.get_plugin_version(caller, team, name, version)
        (shown,) = schemas.show_plugins([row], caller)
        return Response(shown)


class PluginLock(Endpoint):
    actions = {"GET": Action.PLUGIN_READ}
    problems = {"GET": (errors.UnknownTeam, errors.UnknownPluginRelease)}

    @extend_schema(
        operation_id="plugin_config_lock",
        summary="Get the lock of the active release",
        description="What exactly clients install: `plugins.lock.json`, with digests of each archive and of"
        " its files. Send its ETag as `If-None-Match`, and get 304 while nothing has changed.",
        tags=_TAGS,
        parameters=[config_schemas.TeamQuery],
        responses=schemas.PluginLockRead,
        examples=[examples.LOCK],
    )
    def get(self, request: Request) -> Response:
        query = config_schemas.TeamQuery.parse(request)
        lock = listing.active_lock(caller_of(request), query["team"])
        return respond(request, lock.content, etag=f'"{lock.digest}"')


class PluginArtifactItem(Endpoint):
    actions = {"GET": Action.PLUGIN_READ}
    problems = {"GET": (errors.UnknownTeam, errors.UnknownPlugin, errors.UnknownPluginArtifact)}

    @extend_schema(
        operation_id="plugins_artifact",
        summary="Download the archive of a plugin",
        description="Of the active release. The ETag is its SHA-256. `Range` resumes a download; with"
        " `If-Range`, only while the archive is the same.",
        tags=_TAGS,
        parameters=[schemas.ArtifactQuery],
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, name: str) -> HttpResponse | StreamingHttpResponse:
        query = schemas.ArtifactQuery.parse(request)
        caller = caller_of(request)
        team = find_team(caller, query["team"], Action.PLUGIN_READ)
        artifact = usable_artifact(listing.get_plugin(caller, team, name))
        if artifact is None or query["sha256"] not in ("", artifact.sha256):
            raise errors.UnknownPluginArtifact(
                f"The active release has no such archive of {name[:80]!r}. Read the lock again."
            )
        part = requested_part(
            artifact.size,
            artifact.sha256,
            request.headers.get("Range", ""),
            request.headers.get("If-Range", ""),
        )
        headers = answer_headers(part, artifact.sha256)
        if request.headers.get("If-None-Match") == headers["ETag"]:
            return HttpResponse(status=304, headers=headers)
        if part.length == 0:
            return HttpResponse(status=416, headers=headers)
        archive = content_store().open(artifact.sha256)
        archive.seek(part.start)
        is_async = isinstance(request._request, ASGIRequest)
        chunks = _read_async(archive, part) if is_async else _read(archive, part)
        return StreamingHttpResponse(
            chunks,
            status=206 if part.is_part else 200,
            content_type="application/octet-stream",
            headers=headers,
        )


def _read(archive: BinaryIO, part: Part) -> Iterator[bytes]:
    remaining = part.length
    with archive:
        while remaining and (chunk := archive.read(min(_CHUNK, remaining))):
            remaining -= len(chunk)
            yield chunk


def _following(chunks: Iterator[bytes]) -> bytes:
    return next(chunks, b"")


async def _read_async(archive: BinaryIO, part: Part) -> AsyncIterator[bytes]:
    """Yield the part chunk by chunk. Django would read a whole archive into memory otherwise."""
    chunks = _read(archive, part)
    try:
        while chunk := await sync_to_async(_following, thread_sensitive=False)(chunks):
            yield chunk
    finally:
        archive.close()
