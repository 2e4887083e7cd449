"""Doors to the sources that are read again and again: the folder, and the cluster."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.fields import Query, StrictSerializer, Text, parse_body
from controlplane.identity.roles import Action
from registry.agent_configs.sources.follow import STATES, confirm_removal
from registry.agent_configs.sources.state import FOLLOWED, standing
from registry.api.agent_configs import examples

NAMES = [(one, one) for one in FOLLOWED]
STATE_NAMES = [(one, one) for one in STATES]
_TAGS = ["agent configurations"]


class PendingDocumentRemoval(serializers.Serializer[Any]):
    """Documents that are gone from the source, and stay until somebody confirms it."""

    digest = serializers.CharField(help_text="Send it to `agent-config-sources:confirm`.")
    documents = serializers.ListField(
        child=serializers.CharField(), help_text="The first of them; to administrators alone."
    )


class FollowedSource(serializers.Serializer[Any]):
    source = serializers.ChoiceField(choices=NAMES)  # type: ignore[assignment]  # DRF takes it out
    state = serializers.ChoiceField(
        choices=STATE_NAMES,
        help_text="`off`: it is not set up. `failing`: it, or a part of it, cannot be read; what was read "
        "stays. `awaiting_confirmation`: too much of it is gone.",
    )
    checked_at = serializers.DateTimeField(allow_null=True)
    loaded_at = serializers.DateTimeField(allow_null=True, help_text="When all of it was read last.")
    problem_count = serializers.IntegerField()
    problems = serializers.ListField(child=serializers.CharField(), help_text="To administrators alone.")
    pending = PendingDocumentRemoval(allow_null=True)
    watcher = serializers.CharField(help_text="Of the cluster: the process that follows it.")
    counts = serializers.DictField(
        child=serializers.IntegerField(), help_text="Of that process, since it started."
    )


class FollowedSourcePage(serializers.Serializer[Any]):
    items = FollowedSource(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class RemovalConfirmation(StrictSerializer):
    source = serializers.ChoiceField(choices=NAMES)  # type: ignore[assignment]  # as above
    digest = Text(max_length=64, help_text="`pending.digest`: exactly these documents may go.")


class SourceCollection(Endpoint):
    actions = {"GET": Action.AGENT_CONFIG_READ}

    @extend_schema(
        operation_id="agent_config_sources_list",
        summary="List sources of agent configurations",
        description=(
            "Shows for the folder and the Kubernetes cluster whether documents are being read, when they "
            "were last read, and what is wrong."
        ),
        tags=_TAGS,
        responses=FollowedSourcePage,
        examples=examples.SOURCES,
    )
    def get(self, request: Request) -> Response:
        Query.parse(request)
        items = [asdict(standing(one, caller_of(request))) for one in FOLLOWED.values()]
        return Response({"items": items, "next_cursor": None})


class ConfirmRemoval(Endpoint):
    actions = {"POST": Action.AGENT_CONFIG_RULE}
    problems = {"POST": (errors.UnknownVersion,)}

    @extend_schema(
        operation_id="agent_config_sources_confirm",
        summary="Confirm the removal of many documents",
        description="At the next look, if the source still holds the same.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=RemovalConfirmation,
        responses=FollowedSource,
        examples=examples.CONFIRM_REMOVAL,
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ReasonedQuery.parse(request)
        said = parse_body(RemovalConfirmation, request)
        source = FOLLOWED[said["source"]]
        confirm_removal(source, said["digest"], actor=actor_of(request, query["change_message"]))
        return Response(asdict(standing(source, caller_of(request))))
