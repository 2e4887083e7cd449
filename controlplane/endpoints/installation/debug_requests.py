"""HTTP endpoint for the requests that the web processes work on."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.endpoints import Endpoint
from controlplane.api.fields import Query
from controlplane.identity.roles import Action
from controlplane.observability.request_ids import current_request_id
from controlplane.observability.requests_in_progress import IN_PROGRESS


class ObservedRequestRead(serializers.Serializer[Any]):
    process = serializers.IntegerField(
        help_text="Process id of the worker. With SIGUSR1, it logs its stacks."
    )
    request_id = serializers.CharField()
    method = serializers.CharField()
    path = serializers.CharField(help_text="Without the query.")
    principal = serializers.CharField(allow_blank=True, help_text="Empty: not known yet, or nobody.")
    started_at = serializers.DateTimeField()
    seconds = serializers.FloatField(help_text="How long it took, or has taken so far.")
    status = serializers.IntegerField(allow_null=True, help_text="Null: still in progress.")


class ObservedRequests(serializers.Serializer[Any]):
    items = ObservedRequestRead(many=True)


_ITEM = {
    "process": 4711,
    "request_id": "01a21c14-a19d-70ea-9089-9a54e062a4e6",
    "method": "POST",
    "path": "/api/v1/overrides:apply",
    "principal": "ada",
    "started_at": "2026-11-24T01:58:00Z",
    "seconds": 12.4,
    "status": None,
}


class DebugRequests(Endpoint):
    actions = {"GET": Action.SUPPORT_READ}

    @extend_schema(
        operation_id="debug_requests",
        summary="List requests in progress, and recent slow ones",
        description="Requests that take longer than a second, of all workers of the server that answers:"
        " those in progress, the longest first, then the last that have ended. Of the worker that answers,"
        " also shorter ones. Without streams, long polls, and what is answered from memory. Requires the role"
        " admin at the global scope.",
        tags=["meta"],
        responses=ObservedRequests,
        examples=[OpenApiExample("A slow request", value={"items": [_ITEM]})],
    )
    def get(self, request: Request) -> Response:
        Query.parse(request)
        own = current_request_id()
        return Response(
            {"items": [asdict(each) for each in IN_PROGRESS.of_group() if each.request_id != own]}
        )
