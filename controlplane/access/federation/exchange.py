"""Exchange a workload's token for an access token (RFC 8693, RFC 7523), by the rules of its issuer."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from django.db import transaction

from controlplane.access import tokens
from controlplane.access.federation.refusals import record_refusal
from controlplane.access.federation.rules import AUDIENCE, RuleResult, judge, lifetime
from controlplane.access.federation.stored_rules import rule_from
from controlplane.access.federation.workload_tokens import WorkloadToken, spend, verify_workload_token
from controlplane.access.issuers.verify import JwtRefused
from controlplane.access.login_event_types import FEDERATION_EXCHANGED
from controlplane.access.models import Principal, PrincipalKind, Token
from controlplane.access.oauth.issuance import Issue, store_access_token
from controlplane.access.occurrences import record_occurrence
from controlplane.identity.actors import Actor
from controlplane.identity.ceilings import EVERYTHING

INVALID_GRANT = "invalid_grant"
INVALID_TARGET = "invalid_target"
INVALID_SCOPE = "invalid_scope"
_TOKEN_NAME = "workload"  # noqa: S105  (a name)
_MIN_SECONDS = 1
_IDENTITY_LENGTH = 600


class ExchangeRefused(Exception):
    """error: its code (RFC 6749 section 5.2, RFC 8693 section 2.2.2). It names claims, never their values."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__(f"{error}: {description}")
        self.error, self.description = error, description


@dataclass(frozen=True, slots=True)
class ExchangeRequest:
    """subject_token: of the workload. audience, scopes: as requested; empty for what the rule gives.

    grant: the grant type, for the audit log.
    """

    subject_token: str
    audience: str = ""
    scopes: tuple[str, ...] = ()
    request_id: str = ""
    grant: str = ""


class Exchanged(NamedTuple):
    """secret: of the token, returned only here."""

    token: Token
    secret: str
    scopes: tuple[str, ...]


def exchange_token(request: ExchangeRequest, *, own_audiences: tuple[str, ...] = ()) -> Exchanged:
    """Return a token of the principal that the issuer's rules name.

    own_audiences: names of this control plane, which a request may ask for. Raises ExchangeRefused,
    IssuerUnavailable.
    """
    try:
        workload = verify_workload_token(request.subject_token)
    except JwtRefused as refusal:
        raise ExchangeRefused(INVALID_GRANT, refusal.reason) from refusal
    try:
        return _exchange(workload, request, own_audiences)
    except ExchangeRefused as refusal:
        record_refusal(workload.issuer.issuer, refusal.description, request_id=request.request_id)
        raise


@transaction.atomic
def _exchange(workload: WorkloadToken, request: ExchangeRequest, own_audiences: tuple[str, ...]) -> Exchanged:
    if request.audience and request.audience not in (*own_audiences, *workload.issuer.audiences):
        raise ExchangeRefused(INVALID_TARGET, "The requested audience is not this control plane.")
    index, result = _matching_rule(workload)
    principal = _principal_of(result)
    scopes = _scopes_of(result, request.scopes)
    seconds = lifetime(
        ttl=result.rule.ttl,
        max_ttl=workload.issuer.max_ttl,
        expires_at=workload.expires_at,
        # The token is stored within the next second.
        now=time.time() + 1,
    )
    if seconds < _MIN_SECONDS:
        raise ExchangeRefused(INVALID_GRANT, "The token expires now. Get a new one.")
    try:
        spend(workload)
    except JwtRefused as refusal:
        raise ExchangeRefused(INVALID_GRANT, refusal.reason) from refusal
    secret = tokens.new_token(tokens.Prefix.OAUTH)
    issue = Issue(principal, scopes, request.grant, timedelta(seconds=seconds), name=_TOKEN_NAME)
    token = store_access_token(secret, issue)
    actor = Actor(principal.id, principal.name, request.request_id, identity=_identity(workload))
    facts = {"principal": principal.name, "issuer": workload.issuer.issuer, "rule": str(index)}
    record_occurrence(FEDERATION_EXCHANGED, str(token.id), actor=actor, data=facts)
    return Exchanged(token, secret, scopes)


def _matching_rule(workload: WorkloadToken) -> tuple[int, RuleResult]:
    judgement = judge([rule_from(rule) for rule in workload.issuer.rules], workload.claims)
    index = judgement.first_match
    if index is not None:
        return index, judgement.results[index]
    claims = ", ".join(f"`{name}`" for name in judgement.nearest_miss)
    if not claims:
        raise ExchangeRefused(INVALID_GRANT, "The issuer has no rules. Add one to the trusted issuer.")
    error = INVALID_TARGET if judgement.nearest_miss == (AUDIENCE,) else INVALID_GRANT
    raise ExchangeRefused(error, f"No rule of the issuer matches. The nearest one missed: {claims}.")


def _principal_of(result: RuleResult) -> Principal:
    """Only services: a rule's principal may have been deleted and created again as a person."""
    services = Principal.objects.filter(kind=PrincipalKind.SERVICE, is_active=True)
    principal = services.filter(name=result.principal).first()
    if principal is None:
        raise ExchangeRefused(
            INVALID_GRANT, "The rule matches, but its principal is not an active service. Create it first."
        )
    return principal


def _scopes_of(result: RuleResult, requested: tuple[str, ...]) -> tuple[str, ...]:
    allowed = result.rule.scopes
    if not requested:
        return allowed
    if EVERYTHING not in allowed and not set(requested) <= set(allowed):
        raise ExchangeRefused(INVALID_SCOPE, "The rule does not allow all of the requested scopes.")
    return requested


def _identity(workload: WorkloadToken) -> str:
    return f"{workload.issuer.issuer}#{workload.subject}"[:_IDENTITY_LENGTH]
