"""HTTP endpoints for pins: names that stay with a team."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.fields import StrictSerializer, Text, parse_body
from controlplane.api.pages import PageQuery, page_response, paginate
from controlplane.identity.roles import Action
from registry.agent_configs.claims.grants import Pin
from registry.agent_configs.documents.published import ClaimKind
from registry.agent_configs.models import KINDS
from registry.agent_configs.pin_models import AgentConfigPin
from registry.agent_configs.publishing.hidden_teams import hidden_teams
from registry.agent_configs.publishing.pins import pin_claim, unpin_claim
from registry.api.agent_configs import examples

_TAGS = ["agent configurations"]


class PinRead(serializers.Serializer[Any]):
    """A name that stays with a team."""

    kind = serializers.ChoiceField(choices=KINDS)
    name = serializers.CharField()
    team = serializers.CharField(help_text="The team that has the name, as long as it claims it.")
    reason = serializers.CharField()
    until = serializers.DateTimeField(allow_null=True, help_text="null: until it is unpinned.")
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField()

    class Meta:
        ref_name = "AgentConfigPin"


class PinPage(serializers.Serializer[Any]):
    items = PinRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)

    class Meta:
        ref_name = "AgentConfigPinPage"


class PinWrite(StrictSerializer):
    kind = serializers.ChoiceField(choices=KINDS, required=False, default="task_type")
    name = Text(max_length=128)
    team = Text(max_length=63, help_text="A team that claims the name.")
    until = serializers.DateTimeField(
        required=False, allow_null=True, default=None, help_text="When the pin expires; by default never."
    )

    class Meta:
        ref_name = "ClaimPin"


class UnpinWrite(StrictSerializer):
    kind = serializers.ChoiceField(choices=KINDS, required=False, default="task_type")
    name = Text(max_length=128)

    class Meta:
        ref_name = "ClaimUnpin"


def show_pin(row: AgentConfigPin) -> dict[str, Any]:
    return dict(PinRead(row).data)


class PinCollection(Endpoint):
    actions = {"GET": Action.AGENT_CONFIG_READ}

    @extend_schema(
        operation_id="agent_config_pins_list",
        summary="List pinned names",
        description="Lists the names that an administrator pinned to a team, without expired pins.",
        tags=_TAGS,
        parameters=[PageQuery],
        responses=PinPage,
        examples=examples.PINS,
    )
    def get(self, request: Request) -> Response:
        query = PageQuery.parse(request)
        rows = AgentConfigPin.objects.in_effect().filter(hidden_teams(caller_of(request)).visible("team"))
        return page_response(request, paginate(request, rows, order=("id",), query=query), show_pin)


class PinClaim(Endpoint):
    actions = {"POST": Action.AGENT_CONFIG_RULE}

    @extend_schema(
        operation_id="agent_config_claims_pin",
        summary="Pin a name to a team",
        description=(
            "The team has the name in every data plane as long as it claims it, before all other rules. The "
            "pin lasts until it expires or is removed, and replaces an earlier one of the name."
        ),
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=PinWrite,
        responses=PinRead,
        examples=examples.PIN,
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ReasonedQuery.parse(request)
        caller_of(request).require(Action.AGENT_CONFIG_RULE)
        body = parse_body(PinWrite, request)
        pin = Pin(body["team"], ClaimKind(body["kind"]), body["name"])
        row = pin_claim(pin, body["until"], actor=actor_of(request, query["change_message"]))
        return Response(show_pin(row))


class UnpinClaim(Endpoint):
    actions = {"POST": Action.AGENT_CONFIG_RULE}

    @extend_schema(
        operation_id="agent_config_claims_unpin",
        summary="Unpin a name",
        description="The usual rules decide again who has the name; the present owner mostly keeps it.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=UnpinWrite,
        responses={204: None},
        examples=examples.UNPIN,
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ReasonedQuery.parse(request)
        caller_of(request).require(Action.AGENT_CONFIG_RULE)
        body = parse_body(UnpinWrite, request)
        actor = actor_of(request, query["change_message"])
        unpin_claim(ClaimKind(body["kind"]), body["name"], actor=actor)
        return Response(status=204)
