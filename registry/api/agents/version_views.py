"""HTTP endpoint for the versions of agents in use."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.endpoints import Endpoint, caller_of
from controlplane.api.fields import Query, Text
from controlplane.identity.roles import Action
from registry.listing.versions import RankedVersion, versions_in_use

_EXAMPLE = {
    "component": "agent",
    "version": "1.4.1",
    "agents": 12,
    "live_agents": 11,
    "share": 0.2,
    "behind": 1,
}


class AgentVersionQuery(Query):
    environment = Text(required=False, default="", allow_blank=True, max_length=255, help_text="Only there.")


class AgentVersionRead(serializers.Serializer[Any]):
    component = serializers.CharField(help_text="What the agent reports, such as `agent` or `sdk`.")
    version = serializers.CharField()
    agents = serializers.IntegerField(help_text="Agents that report it, without retired ones.")
    live_agents = serializers.IntegerField(help_text="Those that send heartbeats.")
    share = serializers.FloatField(help_text="Of the agents that report the component, 0 to 1.")
    behind = serializers.IntegerField(help_text="Number of newer versions in use; 0 for the newest.")


class AgentVersionList(serializers.Serializer[Any]):
    items = AgentVersionRead(many=True)


class AgentVersions(Endpoint):
    actions = {"GET": Action.AGENT_READ}

    @extend_schema(
        operation_id="agents_versions",
        summary="Count agents by version",
        description="Versions that agents report, the newest of each component first, at most 500.",
        tags=["agents"],
        parameters=[AgentVersionQuery],
        responses=AgentVersionList,
        examples=[OpenApiExample("Versions", value={"items": [_EXAMPLE]}, response_only=True)],
    )
    def get(self, request: Request) -> Response:
        query = AgentVersionQuery.parse(request)
        return Response(
            {"items": [_show(row) for row in versions_in_use(caller_of(request), query["environment"])]}
        )


def _show(row: RankedVersion) -> dict[str, Any]:
    count = {name: getattr(row.count, name) for name in ("component", "version", "agents", "live_agents")}
    return {**count, "share": round(row.share, 4), "behind": row.behind}
