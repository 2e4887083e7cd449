"""HTTP endpoints for bundles of data planes."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.endpoints import OF_LISTS, Endpoint, caller_of
from controlplane.api.fields import Query
from controlplane.api.pages import page_response, paginate
from controlplane.identity.roles import Action
from registry.agent_configs import serialization
from registry.agent_configs.bundles.differences import compare_bundles, summarize_difference
from registry.agent_configs.delivery.plane_access import get_readable_bundle, planes_with_readable_contents
from registry.agent_configs.models import AgentConfigBundle
from registry.api.agent_configs import data_plane_schemas as schemas
from registry.api.agent_configs import examples

_TAGS = ["data planes"]


class BundleCollection(Endpoint):
    actions = {"GET": Action.AGENT_CONFIG_READ}
    staleness = OF_LISTS

    @extend_schema(
        operation_id="agent_config_bundles_list",
        summary="List bundles, newest first",
        description=(
            "A bundle is the complete configuration that a data plane serves at one revision. Filter by "
            "data plane to see its history."
        ),
        tags=_TAGS,
        parameters=[schemas.BundleListQuery],
        responses=schemas.BundlePage,
        examples=examples.BUNDLES,
    )
    def get(self, request: Request) -> Response:
        query = schemas.BundleListQuery.parse(request)
        rows = AgentConfigBundle.objects.defer("text", "body")
        names = planes_with_readable_contents(caller_of(request))
        if names is not None:
            rows = rows.filter(data_plane__in=names)
        if "data_plane" in query:
            rows = rows.filter(data_plane=query["data_plane"])
        page = paginate(request, rows, order=("-id",), query=query)
        return page_response(request, page, schemas.show_bundle_summary)


class BundleItem(Endpoint):
    actions = {"GET": Action.AGENT_CONFIG_READ}

    @extend_schema(
        operation_id="agent_config_bundles_get",
        summary="Get one bundle",
        description=(
            "Includes the documents that the bundle was built from, and rejected claims with their reasons."
        ),
        tags=_TAGS,
        responses=schemas.BundleRead,
        examples=examples.BUNDLE,
    )
    def get(self, request: Request, name: str, revision: int) -> Response:
        Query.parse(request)
        return Response(schemas.show_bundle(get_readable_bundle(name, revision, caller_of(request))))


class BundleDifference(Endpoint):
    actions = {"GET": Action.AGENT_CONFIG_READ}

    @extend_schema(
        operation_id="agent_config_bundles_diff",
        summary="Compare two bundles",
        description=(
            "Lists the changes from the first revision to the second, and the settings for which propeller "
            "must restart."
        ),
        tags=_TAGS,
        responses=schemas.BundleDifferenceRead,
        examples=examples.BUNDLE_DIFFERENCE,
    )
    def get(self, request: Request, name: str, revision: int, other: int) -> Response:
        Query.parse(request)
        caller = caller_of(request)
        before, after = (
            serialization.bundle_from_json(get_readable_bundle(name, number, caller).body)
            for number in (revision, other)
        )
        result = compare_bundles(before, after)
        return Response({"changes": list(summarize_difference(result)), "restarts": list(result.restarts)})
