"""HTTP endpoints of plugin releases, and of the nodes that install them."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import OF_LISTS, Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.identity.roles import Action
from registry.api.plugins import config_schemas
from registry.api.plugins import release_examples as examples
from registry.api.plugins import release_schemas as schemas
from registry.plugin_releases import listing, release_changes
from registry.plugin_releases.activation import live_nodes
from registry.plugin_releases.models import PluginNode, PluginRelease
from registry.plugin_releases.plugin_sets import find_team
from registry.plugin_releases.release_changes import ReleaseTerms

_TAGS = ["plugins"]
_PROBLEMS: dict[str, tuple[type[errors.ControlplaneError], ...]] = {
    "POST": (errors.UnknownPluginRelease, errors.ReleaseNotUsable)
}


class PluginReleaseCollection(Endpoint):
    actions = {"GET": Action.PLUGIN_READ, "POST": Action.PLUGIN_RELEASE}
    staleness = OF_LISTS
    problems = {
        "GET": (errors.UnknownTeam,),
        "POST": (errors.UnknownTeam, errors.UnknownPluginConfig, errors.ReleaseNotUsable),
    }

    @extend_schema(
        operation_id="plugin_releases_list",
        summary="List plugin releases",
        description="Newest first.",
        tags=_TAGS,
        parameters=[config_schemas.PluginReleaseListQuery],
        responses=schemas.PluginReleasePage,
        examples=[examples.RELEASES],
    )
    def get(self, request: Request) -> Response:
        query = config_schemas.PluginReleaseListQuery.parse(request)
        caller = caller_of(request)
        rows = listing.visible_releases(caller)
        if query.get("team"):
            rows = rows.filter(plugin_set__team=find_team(caller, query["team"], Action.PLUGIN_READ))
        page = paginate(request, rows.filter(query["q"]), order=query["sort"], query=query)
        return page_response(request, page, schemas.show_summary)

    @extend_schema(
        operation_id="plugin_releases_create",
        summary="Release the plugin configuration",
        description=(
            "Installers fetch what is new, verify and install it; then the release becomes active, with no"
            " restart. A changed variable, such as another executor image, downloads nothing. A release that"
            " still waits is superseded."
        ),
        tags=_TAGS,
        parameters=[config_schemas.TeamChangeQuery],
        request=schemas.PluginReleaseWrite,
        responses={201: schemas.PluginReleaseRead},
        examples=[examples.RELEASE_WRITE, examples.RELEASE_CREATED],
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = config_schemas.TeamChangeQuery.parse(request)
        body = parse_body(schemas.PluginReleaseWrite, request)
        release = release_changes.create_release(
            find_team(caller_of(request), query["team"], Action.PLUGIN_RELEASE),
            ReleaseTerms(body["activate"] == "automatic", body["min_active"]),
            actor=actor_of(request, query["change_message"] or body["message"]),
        )
        headers = {"Location": f"/api/v1/plugin-releases/{release.id}"}
        return Response(schemas.show_release(release), status=201, headers=headers)


class PluginReleaseItem(Endpoint):
    actions = {"GET": Action.PLUGIN_READ}
    problems = {"GET": (errors.UnknownPluginRelease,)}

    @extend_schema(
        operation_id="plugin_releases_get",
        summary="Get a plugin release",
        description="With each plugin, what the release does with it, and the nodes that have it.",
        tags=_TAGS,
        responses=schemas.PluginReleaseRead,
        examples=[examples.RELEASE],
    )
    def get(self, request: Request, release_id: UUID) -> Response:
        Query.parse(request)
        return Response(schemas.show_release(listing.get_release(caller_of(request), release_id)))


def _changed(request: Request, release_id: UUID, change: Callable[..., PluginRelease]) -> Response:
    """Make a change of a release, and show it."""
    query = ReasonedQuery.parse(request)
    found = listing.get_release(caller_of(request), release_id, Action.PLUGIN_RELEASE)
    actor = actor_of(request, query["change_message"])
    return Response(schemas.show_release(change(found.id, actor=actor)))


class PluginReleaseActivate(Endpoint):
    actions = {"POST": Action.PLUGIN_RELEASE}
    problems = _PROBLEMS

    @extend_schema(
        operation_id="plugin_releases_activate",
        summary="Activate a plugin release",
        description="At once, also if some nodes do not have it yet: they follow, and use the earlier one"
        " meanwhile.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=None,
        responses=schemas.PluginReleaseRead,
        examples=[examples.RELEASE],
    )
    @mutation
    def post(self, request: Request, release_id: UUID) -> Response:
        return _changed(request, release_id, release_changes.activate)


class PluginReleaseRollback(Endpoint):
    actions = {"POST": Action.PLUGIN_RELEASE}
    problems = _PROBLEMS

    @extend_schema(
        operation_id="plugin_releases_rollback",
        summary="Roll back to a plugin release",
        description="Makes a release active again that was active before. Nothing is downloaded from"
        " providers. Releases that wait are superseded.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=None,
        responses=schemas.PluginReleaseRead,
        examples=[examples.RELEASE],
    )
    @mutation
    def post(self, request: Request, release_id: UUID) -> Response:
        return _changed(request, release_id, release_changes.roll_back)


class PluginReleaseCancel(Endpoint):
    actions = {"POST": Action.PLUGIN_RELEASE}
    problems = _PROBLEMS

    @extend_schema(
        operation_id="plugin_releases_cancel",
        summary="Cancel a plugin release",
        description="Ends a release that is not active yet. The active one stays.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=None,
        responses=schemas.PluginReleaseRead,
        examples=[examples.RELEASE],
    )
    @mutation
    def post(self, request: Request, release_id: UUID) -> Response:
        return _changed(request, release_id, release_changes.cancel)


class PluginNodeCollection(Endpoint):
    actions = {"GET": Action.PLUGIN_READ}

    @extend_schema(
        operation_id="plugin_nodes_list",
        summary="List nodes that install plugins",
        description="Each runs `manage.py plugin_installer`. A node that was silent for a day is forgotten.",
        tags=_TAGS,
        parameters=[schemas.PluginNodeListQuery],
        responses=schemas.PluginNodePage,
        examples=[examples.NODES],
    )
    def get(self, request: Request) -> Response:
        query = schemas.PluginNodeListQuery.parse(request)
        caller_of(request).require_for_some_owner(Action.PLUGIN_READ)
        live = set(live_nodes())
        page = paginate(request, PluginNode.objects.filter(query["q"]), order=query["sort"], query=query)
        return page_response(
            request, page, lambda node: schemas.show_installer(node, is_live=node.name in live)
        )
