"""Schemas of join tokens and credentials."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.utils import timezone
from rest_framework import serializers

from controlplane.access.federation.rules import MAX_SECONDS, MIN_SECONDS
from controlplane.access.issuers.verify import MAX_LENGTH
from controlplane.access.teams.owning_team import choose_team
from controlplane.api.fields import Flag, StrictSerializer, Text, Whole
from controlplane.api.pages import PageQuery
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.api.agents import schemas
from registry.joining.issuer_rules import IssuerRule
from registry.joining.join_tokens import JoinTokenSpec
from registry.joining.terms import JoinTerms

_LONGEST_SECONDS = 90 * 24 * 3600
# A join token with an issuer rule has no secret that could be stolen.
_LONGEST_RULE_SECONDS = 10 * 365 * 24 * 3600


class IssuerRuleOfJoinToken(StrictSerializer):
    issuer = Text(max_length=255, help_text="A trusted issuer: exactly the claim `iss` of its tokens.")
    match = serializers.DictField(
        child=Text(max_length=255),
        help_text="Claims of the token, all of which must match. Pattern: `*` matches characters except `/`"
        " and `:`, `**` matches any characters.",
    )
    audience = Text(
        max_length=255,
        required=False,
        default="",
        allow_blank=True,
        help_text="Audience that the token must have. Empty: any audience of the issuer.",
    )
    ttl = Whole(
        required=False,
        default=MAX_SECONDS,
        min_value=MIN_SECONDS,
        max_value=MAX_SECONDS,
        help_text="Maximum lifetime of an agent's credential in seconds. The agent joins again before.",
    )


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
    expires_in_seconds = Whole(
        required=False,
        default=3600,
        min_value=60,
        max_value=_LONGEST_RULE_SECONDS,
        help_text="At most 90 days, or 10 years with `issuer_rule`.",
    )
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
    issuer_rule = IssuerRuleOfJoinToken(
        required=False,
        default=None,
        allow_null=True,
        help_text="Agents send a matching token of this issuer as `subject_token`. The join token then has no"
        " secret. `uses` and `expires_in_seconds` limit new agents only: agents that joined renew their"
        " credentials until the join token is revoked.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["issuer_rule"] is None and attrs["expires_in_seconds"] > _LONGEST_SECONDS:
            message = f"Without an issuer rule, the lifetime is at most {_LONGEST_SECONDS} seconds."
            raise serializers.ValidationError({"expires_in_seconds": [message]}, code="max_value")
        return attrs


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
        IssuerRule(**body["issuer_rule"]) if body["issuer_rule"] else None,
    )


class JoinTokenListQuery(PageQuery):
    team = serializers.CharField(required=False, help_text="Filter by the team that owns the tokens.")
    q = SearchField("name", "name_pattern", "environment", "created_by")
    sort = SortField(SortKeys.of("name", "expires_at", "uses_left", created_at="id"), default="-created_at")


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
    issuer_rule = IssuerRuleOfJoinToken(allow_null=True)
    uses_left = serializers.IntegerField()
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    revoked = serializers.BooleanField()


class CreatedJoinToken(JoinTokenRead):
    token = serializers.CharField(
        allow_null=True, help_text="Shown once. null for a join token with an issuer rule."
    )


class JoinTokenPage(serializers.Serializer[Any]):
    items = JoinTokenRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class AgentCredential(serializers.Serializer[Any]):
    agent = schemas.AgentRead()
    token = serializers.CharField(allow_null=True, help_text="The agent's own token. Shown once.")
    token_expires_at = serializers.DateTimeField(
        allow_null=True, help_text="Until then the agent must join again; null if its token never expires."
    )


class RevokedAgentToken(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    hint = serializers.CharField(help_text="The token's first characters.")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(
        allow_null=True, help_text="A recent use means that a process still has the token."
    )


class RevokedAgentTokens(serializers.Serializer[Any]):
    agent = schemas.AgentRead()
    tokens = RevokedAgentToken(many=True, help_text="Empty if the agent had no valid token.")


class AgentJoinWrite(schemas.AgentRegistrationWrite):
    subject_token = Text(
        required=False,
        max_length=MAX_LENGTH,
        help_text="A token of a trusted issuer, such as that of a Kubernetes service account, instead of a"
        " join token in the header `Authorization`.",
    )
