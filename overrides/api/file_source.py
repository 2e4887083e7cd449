"""HTTP endpoints for the source of overrides: the database or files, and whether the files are in effect."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, MutationQuery, actor_of, caller_of, mutation
from controlplane.api.fields import Query, StrictSerializer, Text, parse_body
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.api import examples
from overrides.file_source.synchronise import STATES, confirm, source_state

SOURCES = [("db", "db"), ("file", "file")]
STATE_NAMES = [(state, state) for state in STATES]


class FileErrorRead(serializers.Serializer[Any]):
    file = serializers.CharField()
    line = serializers.IntegerField(help_text="From 1; 0 for the whole file.")
    column = serializers.IntegerField()
    pointer = serializers.CharField()
    code = serializers.CharField()
    message = serializers.CharField()


class PendingOverrideRemoval(serializers.Serializer[Any]):
    """A set of files that needs confirmation, because it would remove many overrides."""

    digest = serializers.CharField(help_text="Send it to `source:confirm`.")
    removals = serializers.IntegerField()
    stored = serializers.IntegerField()
    addresses = serializers.ListField(child=serializers.CharField(), help_text="The first of them.")


class SourceRead(serializers.Serializer[Any]):
    source = serializers.ChoiceField(choices=SOURCES)  # type: ignore[assignment]  # DRF takes it out
    state = serializers.ChoiceField(
        choices=STATE_NAMES,
        help_text="`database`: no files. `current`: the files are in effect. `failing`: the files are "
        "invalid, and the last valid set stays in effect. `awaiting_confirmation`: the files would remove "
        "many overrides.",
    )
    digest = serializers.CharField(help_text="Digest of the set of files in effect.")
    revision = serializers.IntegerField(help_text="Revision of the set of files in effect.")
    commit = serializers.CharField(
        help_text="Commit of the set of files in effect; empty if the folder is not in a Git checkout."
    )
    checked_at = serializers.DateTimeField(allow_null=True)
    loaded_at = serializers.DateTimeField(allow_null=True)
    files = serializers.ListField(child=serializers.CharField())
    errors = FileErrorRead(many=True)  # type: ignore[assignment]  # DRF takes it out of the class
    pending = PendingOverrideRemoval(allow_null=True)

    class Meta:
        ref_name = "OverridesSource"


class Confirmation(StrictSerializer):
    digest = Text(max_length=64, help_text="`pending.digest` of the set of files to confirm.")

    class Meta:
        ref_name = "SourceConfirmation"


class Source(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ}

    @extend_schema(
        operation_id="overrides_source",
        summary="Get the source of overrides",
        description=(
            "Shows whether overrides are stored in the database or loaded from files, and for files when "
            "they were last loaded and their errors."
        ),
        tags=["source of overrides"],
        responses=SourceRead,
        examples=[examples.SOURCE],
    )
    def get(self, request: Request) -> Response:
        Query.parse(request)
        caller_of(request).require(Action.OVERRIDE_READ, Scope())
        return Response(source_state())


class ConfirmSource(Endpoint):
    actions = {"POST": Action.OVERRIDE_WRITE}
    problems = {"POST": (errors.UnknownVersion,)}

    @extend_schema(
        operation_id="overrides_source_confirm",
        summary="Confirm files that remove many overrides",
        description="The files are loaded at the next check of the folder, if they have not changed since.",
        tags=["source of overrides"],
        parameters=[MutationQuery],
        request=Confirmation,
        responses=SourceRead,
        examples=[examples.CONFIRMATION, examples.SOURCE],
    )
    @mutation
    def post(self, request: Request) -> Response:
        MutationQuery.parse(request)
        caller_of(request).require(Action.OVERRIDE_WRITE, Scope())
        confirm(parse_body(Confirmation, request)["digest"], actor=actor_of(request))
        return Response(source_state())
