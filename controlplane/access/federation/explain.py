"""Explain how a token would be judged, without storing or issuing anything."""

from __future__ import annotations

import time
from dataclasses import dataclass

from controlplane.access.federation.rules import Judgement, judge, lifetime
from controlplane.access.federation.stored_rules import rule_from
from controlplane.access.federation.workload_tokens import find_issuer, verify_issued_by
from controlplane.access.issuers.verify import JwtRefused, read_token

# These are checked after the signature, so the claims are the issuer's.
_AFTER_SIGNATURE = frozenset({"header.typ", "aud", "azp", "exp", "nbf", "iat", "sub"})
_NO_RULES = Judgement()


@dataclass(frozen=True, slots=True)
class Explanation:
    """refused: the claim or header for which the token is refused; empty for a valid token.

    judgement: of the rules; without any if nothing in the token can be trusted. seconds: for which the
    result would be valid.
    """

    issuer: str
    refused: str = ""
    reason: str = ""
    judgement: Judgement = _NO_RULES
    seconds: int = 0


def explain(text: str) -> Explanation:
    """Return how the token would be judged now. Raises IssuerUnavailable."""
    issuer_name, refused, reason = "", "", ""
    try:
        token = read_token(text)
        issuer = find_issuer(token)
        issuer_name = issuer.issuer
        verify_issued_by(issuer, token)
    except JwtRefused as refusal:
        refused, reason = refusal.part, refusal.reason
        if refused not in _AFTER_SIGNATURE:
            return Explanation(issuer_name, refused, reason)
    judgement = judge([rule_from(rule) for rule in issuer.rules], token.claims)
    index = judgement.first_match
    if refused or index is None:
        return Explanation(issuer_name, refused, reason, judgement)
    rule = judgement.results[index].rule
    seconds = lifetime(
        ttl=rule.ttl, max_ttl=issuer.max_ttl, expires_at=float(token.claims["exp"]), now=time.time()
    )
    return Explanation(issuer_name, judgement=judgement, seconds=seconds)
