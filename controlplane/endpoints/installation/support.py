"""HTTP endpoint for what a support bundle has of the server."""

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
from controlplane.installation.support import read_support


class ShownSettingRead(serializers.Serializer[Any]):
    name = serializers.CharField()
    is_set = serializers.BooleanField(help_text="False: the default applies.")
    is_shown = serializers.BooleanField(help_text="False: the value may be a secret.")
    value = serializers.CharField(allow_null=True, help_text="As written. Null if not set or not shown.")


class TableSize(serializers.Serializer[Any]):
    name = serializers.CharField()
    rows = serializers.IntegerField(help_text="An estimate.")
    bytes = serializers.IntegerField(help_text="With indexes.")


class Trouble(serializers.Serializer[Any]):
    seq = serializers.IntegerField()
    type = serializers.CharField()
    at = serializers.DateTimeField()
    object_type = serializers.CharField()
    object_id = serializers.CharField()


class SupportRead(serializers.Serializer[Any]):
    python = serializers.CharField()
    postgres = serializers.CharField()
    extras = serializers.DictField(
        child=serializers.BooleanField(), help_text="Optional parts, and whether they are installed."
    )
    settings = ShownSettingRead(many=True)
    tables = TableSize(many=True, help_text="The 50 largest.")
    troubles = Trouble(many=True, help_text="The last 200 events that begin something bad, newest first.")


_SUPPORT = OpenApiExample(
    "A server",
    value={
        "python": "3.11.2",
        "postgres": "18.1",
        "extras": {"flyte": True},
        "settings": [{"name": "LEASE_SECONDS", "is_set": True, "is_shown": True, "value": "90"}],
        "tables": [{"name": "events_event", "rows": 120000, "bytes": 94371840}],
        "troubles": [
            {
                "seq": 48211,
                "type": "agent.unavailable",
                "at": "2026-11-24T01:58:00Z",
                "object_type": "agent",
                "object_id": "eu-1",
            }
        ],
    },
)


class SupportFacts(Endpoint):
    actions = {"GET": Action.SUPPORT_READ}

    @extend_schema(
        operation_id="meta_support",
        summary="Get facts for a support bundle",
        description="Settings without values that may be secrets, versions, sizes of tables, and recent"
        " troubles, by the server that answers. `cpctl doctor --bundle` asks for them. Requires the role"
        " admin at the global scope.",
        tags=["meta"],
        responses=SupportRead,
        examples=[_SUPPORT],
    )
    def get(self, request: Request) -> Response:
        Query.parse(request)
        return Response(asdict(read_support()))
