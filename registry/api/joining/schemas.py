"""Schemas of join tokens and credentials."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.utils import timezone
from rest_framework import serializers

from controlplane.api.fields import Flag, StrictSerializer, Text, Whole
from registry.api.agents import schemas
from registry.joining.join_tokens import JoinTokenSpec
from registry.joining.terms import JoinTerms

_LONGEST_SECONDS = 90 * 24 * 3600


class JoinTokenWrite(StrictSerializer):
    name = Text(max_length=63, help_text="A label for people.")
    name_pattern = Text(
        max_length=255, help_text="Names with which agents can join; * matches any characters."
    )
    environment = Text(
        max_length=255, required=False, default="", allow_blank=True, help_text="Empty means any."
    )
    service_types = serializers.ListField(
        child=Text(max_length=63), required=False, default=list, max_length=100, help_text="Empty means any."
    )
    uses = Whole(
        required=False, default=1, min_value=1, max_value=100_000, help_text="How many agents can join."
    )
    expires_in_seconds = Whole(required=False, default=3600, min_value=60, max_value=_LONGEST_SECONDS)
    needs_approval = Flag(
        required=False, default=False, help_text="The agent waits for an operator's approval."
    )
    may_take_over = Flag(
        required=False, default=False, help_text="An agent can replace another one of its name."
    )


def join_token_spec(body: Mapping[str, Any]) -> JoinTokenSpec:
    """Return the spec of a join token. body: of JoinTokenWrite; it expires by this process's clock."""
    return JoinTokenSpec(
        JoinTerms(body["name_pattern"], body["environment"], frozenset(body["service_types"])),
        timezone.now() + timedelta(seconds=body["expires_in_seconds"]),
        body["uses"],
        body["needs_approval"],
        body["may_take_over"],
    )


class JoinTokenRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    hint = serializers.CharField()
    name_pattern = serializers.CharField()
    environment = serializers.CharField()
    service_types = serializers.ListField(child=serializers.CharField())
    needs_approval = serializers.BooleanField()
    may_take_over = serializers.BooleanField()
    uses_left = serializers.IntegerField()
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    revoked = serializers.BooleanField()


class CreatedJoinToken(JoinTokenRead):
    token = serializers.CharField(allow_null=True, help_text="Shown once.")


class JoinTokenPage(serializers.Serializer[Any]):
    items = JoinTokenRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class AgentCredential(serializers.Serializer[Any]):
    agent = schemas.AgentRead()
    token = serializers.CharField(allow_null=True, help_text="The agent's own token. Shown once.")
