"""Doors to the fleet guards: what they hold, and the operator's word."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.access.roles import Action
from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, mutation
from controlplane.api.fields import StrictSerializer, Text, Whole, parse_body
from controlplane.api.pages import PageQuery, page_response, paginate
from registry.agents.fleet_guard import Ruling
from registry.agents.guards import is_engaged, overrule
from registry.models import FleetGuard

_NONE = "none"
RULINGS = [*((one.value, one.value) for one in Ruling), (_NONE, _NONE)]
_LONGEST_SECONDS = 7 * 24 * 3600
_GUARD = {
    "environment": "prod-eu-west-1",
    "engaged": True,
    "engaged_at": "2026-11-21T09:30:00Z",
    "lifted_at": None,
    "reason": "48 of 60 agents are silent.",
    "silent": 48,
    "agents": 60,
    "ruling": _NONE,
    "ruling_until": None,
    "ruling_by": "",
}
_SAID = {"environment": "prod-eu-west-1", "ruling": "lift", "seconds": 900}


class FleetGuardRead(serializers.Serializer[Any]):
    environment = serializers.CharField(help_text="Empty: the whole fleet.", allow_blank=True)
    engaged = serializers.BooleanField(help_text="Silent agents become `unknown`, and stay so.")
    engaged_at = serializers.DateTimeField(allow_null=True)
    lifted_at = serializers.DateTimeField(allow_null=True)
    reason = serializers.CharField(allow_blank=True)
    silent = serializers.IntegerField(help_text="As counted when it was engaged, and while it is.")
    agents = serializers.IntegerField(help_text="Among so many; the long dead do not count.")
    ruling = serializers.ChoiceField(choices=RULINGS)
    ruling_until = serializers.DateTimeField(allow_null=True)
    ruling_by = serializers.CharField(allow_blank=True)


class FleetGuardPage(serializers.Serializer[Any]):
    items = FleetGuardRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class FleetGuardQuery(PageQuery):
    engaged = serializers.BooleanField(required=False, help_text="Only those that are, or are not.")


class RulingWrite(StrictSerializer):
    environment = Text(max_length=255, allow_blank=True, help_text="Empty: the whole fleet.")
    ruling = serializers.ChoiceField(
        choices=RULINGS,
        help_text="`lift`: mark silent agents as usual. `engage`: mark none. `none`: the rule decides again.",
    )
    seconds = Whole(
        required=False, default=900, min_value=1, max_value=_LONGEST_SECONDS, help_text="How long it holds."
    )


class FleetGuards(Endpoint):
    actions = {"GET": Action.AGENT_READ}

    @extend_schema(
        operation_id="fleet_guards_list",
        summary="List fleet guards: where silence is doubted",
        tags=["agents"],
        parameters=[FleetGuardQuery],
        responses=FleetGuardPage,
        examples=[
            OpenApiExample("A page", value={"items": [_GUARD], "next_cursor": None}, response_only=True)
        ],
    )
    def get(self, request: Request) -> Response:
        query = FleetGuardQuery.parse(request)
        rows = FleetGuard.objects.all()
        if "engaged" in query:
            rows = rows.filter(engaged_at__isnull=not query["engaged"])
        page = paginate(request, rows, order=("environment",), query=query)
        return page_response(request, page, _show)


class FleetGuardRuling(Endpoint):
    actions = {"POST": Action.AGENT_WRITE}

    @extend_schema(
        operation_id="fleet_guards_overrule",
        summary="Engage or lift a fleet guard by hand",
        description="In force at once, for `seconds`; after that the rule decides again.",
        tags=["agents"],
        parameters=[ReasonedQuery],
        request=RulingWrite,
        responses={200: FleetGuardRead},
        examples=[
            OpenApiExample("They are dead", value=_SAID, request_only=True),
            OpenApiExample("Lifted", value={**_GUARD, "engaged": False}, response_only=True),
        ],
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ReasonedQuery.parse(request)
        said = parse_body(RulingWrite, request)
        guard = overrule(
            said["environment"],
            None if said["ruling"] == _NONE else Ruling(said["ruling"]),
            lasting=timedelta(seconds=said["seconds"]),
            actor=actor_of(request, query["change_message"]),
        )
        return Response(_show(guard))


def _show(guard: FleetGuard) -> dict[str, Any]:
    return {
        "environment": guard.environment,
        "engaged": is_engaged(guard),
        "engaged_at": guard.engaged_at,
        "lifted_at": guard.lifted_at,
        "reason": guard.reason,
        "silent": guard.due_count,
        "agents": guard.agent_count,
        "ruling": guard.ruling or _NONE,
        "ruling_until": guard.ruling_until,
        "ruling_by": guard.ruling_by,
    }
