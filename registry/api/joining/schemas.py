"""Schemas of join tokens and credentials."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.utils import timezone
from rest_framework import serializers

from controlplane.api.fields import Flag, StrictSerializer, Text, Whole
from controlplane.api.pages import PageQuery
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.api.agents import schemas
from registry.joining.join_tokens import JoinTokenSpec
from registry.joining.owning_team import choose_team
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
        required=False,
        default=False,
        help_text="An agent can replace another one of its name; with a team's token only of that team.",
    )
    team = Text(
        max_length=63,
        required=False,
        allow_null=True,
        default=None,
        help_text="Name of the team that owns the token and the agents that join with it. Default: the only "
        "team that your roles are limited to, otherwise the platform.",
    )


def join_token_spec(body: Mapping[str, Any], caller: Caller) -> JoinTokenSpec:
    """Return the spec of a join token of the caller's. body: of JoinTokenWrite.

    It expires by this process's clock. Raises UnknownTeam, InvalidRequest.
    """
    return JoinTokenSpec(
        JoinTerms(body["name_pattern"], body["environment"], frozenset(body["service_types"])),
        timezone.now() + timedelta(seconds=body["expires_in_seconds"]),
        body["uses"],
        body["needs_approval"],
        body["may_take_over"],
        choose_team(caller.owners_for(Action.ACCESS_WRITE), body["team"]),
    )


class JoinTokenListQuery(PageQuery):
    team = serializers.CharField(required=False, help_text="Filter by the team that owns the tokens.")


class JoinTokenRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    hint = serializers.CharField()
    team = serializers.CharField(
        allow_null=True,
        help_text="Name of the team that owns the token and its agents; null for the platform.",
    )
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
