"""HTTP endpoints for fleet guards: their status and mode by environment."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.fields import StrictSerializer, Text, Whole, parse_body
from controlplane.api.pages import PageQuery, page_response, paginate
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agents.states import State
from registry.environments.evidence import WHOLE_FLEET
from registry.environments.fleet_guard import GuardMode
from registry.environments.guarding import is_engaged, set_guard_mode
from registry.environments.models import Environment
from registry.environments.visible import conceal_other_teams, visible_environments
from registry.listing import counts

_NONE = "none"
RULINGS = [*((mode.value, mode.value) for mode in GuardMode), (_NONE, _NONE)]
_MAX_SECONDS = 7 * 24 * 3600
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
    "last_heard_at": "2026-11-21T09:28:57Z",
    "lease_seconds": None,
}
_RULING = {"environment": "prod-eu-west-1", "ruling": "lift", "seconds": 900}


class FleetGuardRead(serializers.Serializer[Any]):
    environment = serializers.CharField(help_text="Empty for the whole fleet.", allow_blank=True)
    engaged = serializers.BooleanField(help_text="While true, silent agents become and stay `unknown`.")
    engaged_at = serializers.DateTimeField(allow_null=True)
    lifted_at = serializers.DateTimeField(allow_null=True)
    reason = serializers.CharField(allow_blank=True)
    silent = serializers.IntegerField(
        help_text="Silent agents. While the guard is engaged: at the time it engaged; otherwise now."
    )
    agents = serializers.IntegerField(
        help_text="All agents. While the guard is engaged: only those that had reported recently."
    )
    ruling = serializers.ChoiceField(choices=RULINGS)
    ruling_until = serializers.DateTimeField(allow_null=True)
    ruling_by = serializers.CharField(allow_blank=True)
    last_heard_at = serializers.DateTimeField(
        allow_null=True,
        help_text="Last heartbeat of any agent of the environment, accurate to a few seconds.",
    )
    lease_seconds = serializers.IntegerField(
        allow_null=True, help_text="Lease of the environment's agents; null for the default."
    )


class FleetGuardPage(serializers.Serializer[Any]):
    items = FleetGuardRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class FleetGuardQuery(PageQuery):
    engaged = serializers.BooleanField(required=False, help_text="Filter by whether the guard is engaged.")
    q = SearchField(environment="name")
    sort = SortField(SortKeys.of(environment="name", tie_break="name"), default="environment")


class FleetGuardRulingWrite(StrictSerializer):
    environment = Text(max_length=255, allow_blank=True, help_text="Empty for the whole fleet.")
    ruling = serializers.ChoiceField(
        choices=RULINGS,
        help_text=(
            "`lift`: mark silent agents unavailable until the incident is over. `engage`: mark none. "
            "`none`: return to automatic mode."
        ),
    )
    seconds = Whole(
        required=False, default=900, min_value=1, max_value=_MAX_SECONDS, help_text="Maximum duration."
    )


class FleetGuards(Endpoint):
    actions = {"GET": Action.AGENT_READ}

    @extend_schema(
        operation_id="fleet_guards_list",
        summary="List fleet guards",
        description=(
            "Shows for each environment whether its guard is active, why, and how many agents are silent."
        ),
        tags=["agents"],
        parameters=[FleetGuardQuery],
        responses=FleetGuardPage,
        examples=[
            OpenApiExample("A page", value={"items": [_GUARD], "next_cursor": None}, response_only=True)
        ],
    )
    def get(self, request: Request) -> Response:
        query = FleetGuardQuery.parse(request)
        caller = caller_of(request)
        rows = visible_environments(caller)
        if "engaged" in query:
            rows = rows.filter(guard_engaged_at__isnull=not query["engaged"])
        page = paginate(request, rows.filter(query["q"]), order=query["sort"], query=query)
        conceal_other_teams(page.items, caller)
        counts = guard_counts(caller)
        return page_response(
            request, page, lambda environment: _show(environment, counts.get(environment.name, {}))
        )


class FleetGuardRuling(Endpoint):
    actions = {"POST": Action.AGENT_WRITE}
    problems = {"POST": (errors.UnknownEnvironment,)}

    @extend_schema(
        operation_id="fleet_guards_overrule",
        summary="Engage or lift a fleet guard",
        description=(
            "Applies immediately for at most `seconds`; then the guard is automatic again. `lift` ends "
            "earlier if few agents are silent, or if no agent reports any more."
        ),
        tags=["agents"],
        parameters=[ReasonedQuery],
        request=FleetGuardRulingWrite,
        responses={200: FleetGuardRead},
        examples=[
            OpenApiExample("Lift a guard", value=_RULING, request_only=True),
            OpenApiExample("Lifted", value={**_GUARD, "engaged": False}, response_only=True),
        ],
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ReasonedQuery.parse(request)
        body = parse_body(FleetGuardRulingWrite, request)
        # A guard protects the agents of all teams.
        caller_of(request).require(Action.AGENT_WRITE)
        environment = set_guard_mode(
            body["environment"],
            None if body["ruling"] == _NONE else GuardMode(body["ruling"]),
            duration=timedelta(seconds=body["seconds"]),
            actor=actor_of(request, query["change_message"]),
        )
        guards = guard_counts(caller_of(request))
        return Response(_show(environment, guards.get(environment.name, {})))


def guard_counts(caller: Caller) -> dict[str, dict[State, int]]:
    """Return counts of the caller's agents by guard and state; that of the whole fleet covers all."""
    by_environment = counts.agent_counts(caller)
    return {**by_environment, WHOLE_FLEET: counts.total(by_environment)}


def _show(environment: Environment, states: Mapping[State, int]) -> dict[str, Any]:
    engaged = is_engaged(environment)
    return {
        "environment": environment.name,
        "engaged": engaged,
        "engaged_at": environment.guard_engaged_at,
        "lifted_at": environment.guard_lifted_at,
        "reason": environment.guard_reason,
        "silent": environment.guard_due_count if engaged else counts.silent_count(states),
        "agents": environment.guard_agent_count if engaged else counts.registered_count(states),
        "ruling": environment.guard_mode or _NONE,
        "ruling_until": environment.guard_mode_until,
        "ruling_by": environment.guard_mode_set_by,
        "last_heard_at": environment.heard_at,
        "lease_seconds": environment.lease_seconds,
    }
