"""HTTP endpoints for the followed sources: the folder, and clusters."""

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
from registry.agent_configs.sources.state import get_source, list_sources, source_status
from registry.api.agent_configs import examples
from registry.api.agent_configs.source_fields import SourceName

STATE_NAMES = [(state, state) for state in STATES]
_TAGS = ["agent configurations"]


class PendingDocumentRemoval(serializers.Serializer[Any]):
    """Documents that are missing from the source and stay until the removal is confirmed."""

    digest = serializers.CharField(help_text="The digest to send to `agent-config-sources:confirm`.")
    documents = serializers.ListField(
        child=serializers.CharField(), help_text="The first documents; only for administrators."
    )


class FollowedSource(serializers.Serializer[Any]):
    source = SourceName(  # type: ignore[assignment]  # DRF takes it out of the class
        help_text="`folder`, `kubernetes`, or the name of a registered cluster."
    )
    state = serializers.ChoiceField(
        choices=STATE_NAMES,
        help_text="`off`: not configured, or no collector has reported yet. `failing`: all or a part of it"
        " cannot be read; its documents stay. `awaiting_confirmation`: many documents are missing.",
    )
    checked_at = serializers.DateTimeField(allow_null=True)
    loaded_at = serializers.DateTimeField(
        allow_null=True, help_text="When the source was last read completely."
    )
    problem_count = serializers.IntegerField()
    problems = serializers.ListField(child=serializers.CharField(), help_text="Only for administrators.")
    pending = PendingDocumentRemoval(allow_null=True)
    watcher = serializers.CharField(help_text="The process that follows the cluster.")
    counts = serializers.DictField(
        child=serializers.IntegerField(), help_text="Counts of that process since it started."
    )


class FollowedSourcePage(serializers.Serializer[Any]):
    items = FollowedSource(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class RemovalConfirmation(StrictSerializer):
    source = SourceName()  # type: ignore[assignment]  # as above
    digest = Text(max_length=64, help_text="`pending.digest` of the removal to confirm.")


class SourceCollection(Endpoint):
    actions = {"GET": Action.AGENT_CONFIG_READ}

    @extend_schema(
        operation_id="agent_config_sources_list",
        summary="List sources of agent configurations",
        description=(
            "Shows for the folder, the Kubernetes cluster of the watcher and each registered cluster the"
            " state, the time of the last read, and the problems."
        ),
        tags=_TAGS,
        responses=FollowedSourcePage,
        examples=examples.SOURCES,
    )
    def get(self, request: Request) -> Response:
        Query.parse(request)
        items = [asdict(status) for status in list_sources(caller_of(request))]
        return Response({"items": items, "next_cursor": None})


class ConfirmRemoval(Endpoint):
    actions = {"POST": Action.AGENT_CONFIG_RULE}
    problems = {"POST": (errors.UnknownVersion,)}

    @extend_schema(
        operation_id="agent_config_sources_confirm",
        summary="Confirm the removal of many documents",
        description="The documents are deleted at the next read if the source has not changed.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=RemovalConfirmation,
        responses=FollowedSource,
        examples=examples.CONFIRM_REMOVAL,
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ReasonedQuery.parse(request)
        # It concerns all teams.
        caller_of(request).require(Action.AGENT_CONFIG_RULE)
        body = parse_body(RemovalConfirmation, request)
        source = get_source(body["source"], caller_of(request))
        confirm_removal(source, body["digest"], actor=actor_of(request, query["change_message"]))
        return Response(asdict(source_status(source, caller_of(request))))
