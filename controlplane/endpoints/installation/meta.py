"""HTTP endpoint for the state of the whole installation."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.endpoints import Endpoint, caller_of
from controlplane.api.fields import Query
from controlplane.endpoints.installation import examples, schemas
from controlplane.identity.roles import Action
from controlplane.installation.state import read_installation


class Meta(Endpoint):
    actions = {"GET": Action.METRICS_READ}

    @extend_schema(
        operation_id="meta_get",
        summary="Get the state of the installation",
        description="Versions of all processes and of the schema, limits and optional features, what waits,"
        " fleet guards, sources, the last backup, and checks: the figures of `/metrics` compared with the"
        " limits of the alerts in `deploy/prometheus`, by the server that answers. A check that fails says"
        " where to read on. Requires the role viewer at the global scope, as metrics do. `/status` is the"
        " same: a page for people, and this document for `Accept: application/json`.",
        tags=["meta"],
        responses=schemas.MetaRead,
        examples=[examples.META],
    )
    def get(self, request: Request) -> Response:
        Query.parse(request)
        return Response(schemas.show_installation(read_installation(reader=caller_of(request).reader)))
