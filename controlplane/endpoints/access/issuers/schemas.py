"""API schemas of trusted issuers, their rules, and explanations of tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from controlplane.access.federation.explain import Explanation
from controlplane.access.federation.rules import MAX_SECONDS, MIN_SECONDS, RuleResult
from controlplane.access.federation.stored_rules import rule_from, show_rule
from controlplane.access.federation.trusted_issuers import IssuerSpec
from controlplane.access.issuer_models import TrustedIssuer
from controlplane.access.issuers.verify import MAX_LENGTH
from controlplane.api.fields import StrictSerializer, Text, Whole
from controlplane.api.pages import PageQuery
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField

_MAX_RULES = 50
_PATTERN = "Pattern: `*` matches characters except `/` and `:`, `**` matches any characters."


class JwkSet(serializers.Serializer[Any]):
    """A JWK Set (RFC 7517 section 5), as the API describes it."""

    keys = serializers.ListField(child=serializers.DictField())


@extend_schema_field(JwkSet)
class KeySetField(serializers.Field[Any, Any, Any, Any]):
    """A JSON object as it is."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise serializers.ValidationError("This must be an object.", code="invalid")
        return dict(data)

    def to_representation(self, value: Any) -> Any:
        return value


class IssuerRuleWrite(StrictSerializer):
    match = serializers.DictField(
        child=Text(max_length=255), help_text=f"Claims of the token, all of which must match. {_PATTERN}"
    )
    audience = Text(
        required=False,
        default="",
        allow_blank=True,
        max_length=255,
        help_text="Audience that the token must have. Empty: any audience of the issuer.",
    )
    principal = Text(
        required=False, default="", allow_blank=True, max_length=63, help_text="Name of a service."
    )
    principal_template = Text(
        required=False,
        default="",
        allow_blank=True,
        max_length=255,
        help_text="Instead of `principal`: a name with one claim, such as `gh-{repository_id}`.",
    )
    scopes = serializers.ListField(
        child=Text(max_length=80),
        required=False,
        default=lambda: ["all"],
        max_length=20,
        help_text="What the resulting token allows at most: `all`, `read`, `overrides`, `agents`,"
        " `publish:<team>`.",
    )
    ttl = Whole(
        required=False,
        default=MAX_SECONDS,
        min_value=MIN_SECONDS,
        max_value=MAX_SECONDS,
        help_text="Maximum lifetime of the resulting token in seconds.",
    )


class TrustedIssuerWrite(StrictSerializer):
    issuer = Text(max_length=255, help_text="Exactly the claim `iss` of its tokens.")
    jwks_uri = Text(
        required=False,
        default="",
        allow_blank=True,
        max_length=1000,
        help_text="URL of its keys. Empty: the issuer's discovery document names it.",
    )
    jwks = KeySetField(
        required=False,
        default=None,
        allow_null=True,
        help_text="Its keys as a JWK Set, if the server cannot reach the issuer.",
    )
    audiences = serializers.ListField(
        child=Text(max_length=255),
        min_length=1,
        max_length=20,
        help_text="A token must have one of these audiences.",
    )
    rules = IssuerRuleWrite(
        many=True, required=False, default=list, help_text="The first rule that matches decides."
    )
    max_ttl = Whole(required=False, default=MAX_SECONDS, min_value=MIN_SECONDS, max_value=MAX_SECONDS)

    def validate_rules(self, rules: list[Any]) -> list[Any]:
        if len(rules) > _MAX_RULES:
            raise serializers.ValidationError(f"An issuer has at most {_MAX_RULES} rules.", code="too_many")
        return rules


class IssuerRuleRead(serializers.Serializer[Any]):
    match = serializers.DictField(child=serializers.CharField())
    audience = serializers.CharField()
    principal = serializers.CharField()
    principal_template = serializers.CharField()
    scopes = serializers.ListField(child=serializers.CharField())
    ttl = serializers.IntegerField()


class TrustedIssuerRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    issuer = serializers.CharField()
    jwks_uri = serializers.CharField()
    jwks = KeySetField(allow_null=True)
    audiences = serializers.ListField(child=serializers.CharField())
    rules = IssuerRuleRead(many=True)
    max_ttl = serializers.IntegerField()
    version = serializers.IntegerField()
    created_at = serializers.DateTimeField()


class TrustedIssuerListQuery(PageQuery):
    q = SearchField("issuer")
    sort = SortField(SortKeys.of("issuer", created_at="id"), default="created_at")


class TrustedIssuerPage(serializers.Serializer[Any]):
    items = TrustedIssuerRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class IssuerTokenWrite(StrictSerializer):
    token = Text(max_length=MAX_LENGTH, help_text="A token of the issuer. It is not stored.")


class RuleResultRead(serializers.Serializer[Any]):
    index = serializers.IntegerField(help_text="Position of the rule, from 0.")
    matches = serializers.BooleanField()
    missed_claims = serializers.ListField(child=serializers.CharField())
    principal = serializers.CharField(help_text="Empty if the rule does not match.")


class TokenExplanationRead(serializers.Serializer[Any]):
    accepted = serializers.BooleanField()
    issuer = serializers.CharField(help_text="The trusted issuer. Empty if the token names none.")
    refused = serializers.CharField(help_text="The claim or header for which the token is refused.")
    reason = serializers.CharField()
    rule = serializers.IntegerField(allow_null=True, help_text="Position of the rule that decides, from 0.")
    principal = serializers.CharField()
    expires_in = serializers.IntegerField(help_text="Lifetime of the resulting token in seconds.")
    rules = RuleResultRead(many=True)


def issuer_spec(body: Mapping[str, Any]) -> IssuerSpec:
    """Return the spec of a trusted issuer. body: of TrustedIssuerWrite."""
    return IssuerSpec(
        issuer=body["issuer"],
        audiences=tuple(dict.fromkeys(body["audiences"])),
        rules=tuple(rule_from(rule) for rule in body["rules"]),
        max_ttl=body["max_ttl"],
        jwks_uri=body["jwks_uri"],
        jwks=body["jwks"],
    )


def show_issuer(issuer: TrustedIssuer) -> dict[str, Any]:
    rules = [_ABSENT | show_rule(rule_from(rule)) for rule in issuer.rules]
    fields = ("issuer", "jwks_uri", "jwks", "audiences", "max_ttl", "version", "created_at")
    return {"id": str(issuer.id), "rules": rules} | {name: getattr(issuer, name) for name in fields}


def show_explanation(explanation: Explanation) -> dict[str, Any]:
    index = explanation.judgement.first_match
    is_accepted = index is not None and not explanation.refused
    results = explanation.judgement.results
    return {
        "accepted": is_accepted,
        "issuer": explanation.issuer,
        "refused": explanation.refused,
        "reason": explanation.reason,
        "rule": index,
        "principal": "" if index is None else results[index].principal,
        "expires_in": explanation.seconds,
        "rules": [_show_result(position, result) for position, result in enumerate(results)],
    }


_ABSENT = {"audience": "", "principal": "", "principal_template": ""}


def _show_result(position: int, result: RuleResult) -> dict[str, Any]:
    return {
        "index": position,
        "matches": result.is_match,
        "missed_claims": list(result.missed),
        "principal": result.principal,
    }
