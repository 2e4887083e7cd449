"""API schemas of identity providers and identities."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.access.login.oidc.claims import RoleClaim, RuleMatch
from controlplane.access.login.oidc.models import Identity
from controlplane.access.login.oidc.provider import Provider, ProviderKind, ProviderSource
from controlplane.access.login.oidc.provider_documents import provider_document
from controlplane.api.fields import Flag, StrictSerializer, Text
from controlplane.api.pages import PageQuery
from controlplane.api.scopes import ScopeRead, show_scope
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField

KINDS = [(kind.value, kind.value) for kind in ProviderKind]
SOURCES = [(source.value, source.value) for source in ProviderSource]
_RULE_HELP = (
    "Teams and roles by claims, evaluated at each login. `*` at the end of `value` matches any text, which"
    " replaces `*` in the segments of `scope`. With a team, the role is limited to the team's objects."
)


class ClaimRuleWrite(StrictSerializer):
    value = Text(max_length=255, help_text="Value of the claim; can end with `*`.")
    claim = Text(
        required=False, allow_blank=True, max_length=255, help_text="Claim. Default: the `group_claim`."
    )
    team = Text(required=False, allow_blank=True, max_length=63, help_text="Team that the person joins.")
    role = Text(required=False, allow_blank=True, max_length=63, help_text="Role that the person gets.")
    scope = serializers.DictField(
        child=Text(max_length=255), required=False, help_text="Scope of the role. Default: global."
    )


class IdentityProviderWrite(StrictSerializer):
    issuer = Text(max_length=512, help_text="Issuer URL, exactly as in the provider's discovery document.")
    client_id = Text(max_length=255)
    client_secret = Text(
        required=False,
        allow_blank=True,
        max_length=1024,
        help_text="Stored encrypted and never returned. Omitted: unchanged. Empty: a public client.",
    )
    title = Text(required=False, allow_blank=True, max_length=255, help_text="Name on the login page.")
    kind = serializers.ChoiceField(
        choices=KINDS, required=False, help_text="Product, where its tokens differ from the standard."
    )
    scopes = serializers.ListField(child=Text(max_length=255), required=False)
    group_claim = Text(required=False, max_length=255)
    rules = serializers.ListField(child=ClaimRuleWrite(), required=False, help_text=_RULE_HELP)
    authoritative = Flag(required=False, help_text="Whether a login also removes roles given by hand.")
    allowed_domains = serializers.ListField(child=Text(max_length=255), required=False)
    tenants = serializers.ListField(
        child=Text(max_length=36), required=False, help_text="Ids of Entra tenants that may log in."
    )
    organisation = Text(
        required=False, max_length=63, help_text="Organisation of people who log in here for the first time."
    )
    is_active = Flag(required=False)


class ClaimRuleRead(serializers.Serializer[Any]):
    claim = serializers.CharField()
    value = serializers.CharField()
    team = serializers.CharField()
    role = serializers.CharField()
    scope = serializers.DictField(child=serializers.CharField())


class IdentityProviderRead(serializers.Serializer[Any]):
    slug = serializers.CharField()
    issuer = serializers.CharField()
    client_id = serializers.CharField()
    title = serializers.CharField()
    kind = serializers.ChoiceField(choices=KINDS)
    scopes = serializers.ListField(child=serializers.CharField())
    group_claim = serializers.CharField()
    rules = ClaimRuleRead(many=True)
    authoritative = serializers.BooleanField()
    allowed_domains = serializers.ListField(child=serializers.CharField())
    tenants = serializers.ListField(child=serializers.CharField())
    organisation = serializers.CharField()
    is_active = serializers.BooleanField()
    configured_in = serializers.ChoiceField(
        choices=SOURCES, help_text="`setting`: configured by the operator, and read-only here."
    )
    version = serializers.IntegerField(help_text="Version of the ETag; 0 for a provider of the settings.")


class IdentityProviderPage(serializers.Serializer[Any]):
    items = IdentityProviderRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ProviderTestWrite(StrictSerializer):
    token = Text(
        required=False, max_length=16384, help_text="An ID token. It is checked but not stored or returned."
    )
    claims = serializers.DictField(required=False, help_text="Claims to try, instead of a token.")


class RoleClaimRead(serializers.Serializer[Any]):
    role = serializers.CharField()
    scope = ScopeRead()
    team = serializers.CharField(allow_null=True)


class RuleMatchRead(serializers.Serializer[Any]):
    rule = serializers.IntegerField(help_text="Number of the rule, from 1.")
    value = serializers.CharField()
    team = serializers.CharField(allow_null=True)
    role = RoleClaimRead(allow_null=True)
    problem = serializers.CharField(help_text="Why the role is not given; empty if it is.")


class ProviderTestRead(serializers.Serializer[Any]):
    token_is_valid = serializers.BooleanField(allow_null=True, help_text="null without a token.")
    may_log_in = serializers.BooleanField()
    problems = serializers.ListField(child=serializers.CharField())
    matches = RuleMatchRead(many=True)


class IdentityWrite(StrictSerializer):
    principal = Text(max_length=63, help_text="The person to whom the identity belongs.")
    issuer = Text(max_length=512)
    subject = Text(max_length=255, help_text="Claim `sub` of the person's tokens.")


class IdentityRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    principal = serializers.CharField(source="principal.name")
    issuer = serializers.CharField()
    subject = serializers.CharField()
    email = serializers.CharField()
    email_verified = serializers.BooleanField()
    last_login_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


class IdentityPage(serializers.Serializer[Any]):
    items = IdentityRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class IdentityListQuery(PageQuery):
    principal = serializers.CharField(required=False, help_text="Filter by person.")
    q = SearchField("email", "subject", "issuer", principal="principal__name")
    sort = SortField(SortKeys.of("email", "issuer", created_at="id"), default="created_at")


def show_provider(provider: Provider, version: int) -> dict[str, Any]:
    return {**provider_document(provider), "configured_in": provider.source.value, "version": version}


def show_match(match: RuleMatch) -> dict[str, Any]:
    return {
        "rule": match.rule_number,
        "value": match.value,
        "team": match.team,
        "role": _show_role(match.role) if match.role else None,
        "problem": match.problem,
    }


def _show_role(role: RoleClaim) -> dict[str, Any]:
    return {"role": role.role, "scope": show_scope(role.scope), "team": role.team}


def show_identity(identity: Identity) -> dict[str, Any]:
    return dict(IdentityRead(identity).data)
