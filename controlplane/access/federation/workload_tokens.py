"""Verify tokens that trusted issuers gave to workloads, and use each of them only once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import connection

from controlplane.access.issuer_models import TrustedIssuer
from controlplane.access.issuers.discovery import IssuerAddress
from controlplane.access.issuers.jwks import KeySource, verify_with
from controlplane.access.issuers.verify import (
    Expectations,
    JwtRefused,
    UnverifiedToken,
    read_token,
    time_claim,
)

MAX_AGE_SECONDS = 600
_TOKEN_ID = "jti"  # noqa: S105  (the name of a claim)
_MOST_DELETED = 100


@dataclass(frozen=True, slots=True)
class WorkloadToken:
    """A verified token of a trusted issuer."""

    issuer: TrustedIssuer
    claims: Mapping[str, Any]

    @property
    def expires_at(self) -> float:
        return time_claim(self.claims, "exp")

    @property
    def subject(self) -> str:
        return str(self.claims["sub"])


def verify_workload_token(text: str) -> WorkloadToken:
    """Return the token with its issuer. Raises JwtRefused, IssuerUnavailable."""
    token = read_token(text)
    issuer = find_issuer(token)
    return WorkloadToken(issuer, verify_issued_by(issuer, token))


def find_issuer(token: UnverifiedToken) -> TrustedIssuer:
    """Return the issuer that the token names. Raises JwtRefused."""
    issuer = TrustedIssuer.objects.filter(issuer=token.issuer).first()
    if issuer is None:
        raise JwtRefused("iss", "The claim `iss` is not a trusted issuer.")
    return issuer


def verify_issued_by(issuer: TrustedIssuer, token: UnverifiedToken) -> dict[str, Any]:
    """Return the claims. Raises JwtRefused, IssuerUnavailable."""
    expectations = Expectations(issuer.issuer, frozenset(issuer.audiences), max_age=MAX_AGE_SECONDS)
    return verify_with(key_source(issuer), token, expectations)


def key_source(issuer: TrustedIssuer) -> KeySource:
    """Return where the keys are. An address from the API is not the operator's: private ones are refused."""
    return KeySource(IssuerAddress(issuer.issuer), issuer.jwks_uri, issuer.jwks)


def spend(token: WorkloadToken) -> None:
    """Use the token, in the transaction of its effect. Raises JwtRefused if its `jti` was used before."""
    token_id = token.claims.get(_TOKEN_ID)
    if token_id is None:
        return
    digest = hashlib.sha256(f"{token.issuer.issuer}\n{token_id}".encode()).digest()
    with connection.cursor() as cursor:
        cursor.execute(_FORGET_EXPIRED, [_MOST_DELETED])
        cursor.execute(_REMEMBER, [digest, datetime.fromtimestamp(token.expires_at, UTC)])
        if cursor.rowcount == 0:
            raise JwtRefused(_TOKEN_ID, "The token was used before: its `jti` is valid once. Get a new one.")


_REMEMBER = """
INSERT INTO access_usedtokenid (digest, expires_at) VALUES (%s, %s) ON CONFLICT DO NOTHING
"""
# An expired token is refused for its age. Clocks may differ by a minute: rows stay for an hour.
_FORGET_EXPIRED = """
DELETE FROM access_usedtokenid WHERE digest IN (
    SELECT digest FROM access_usedtokenid WHERE expires_at < now() - interval '1 hour'
    LIMIT %s FOR UPDATE SKIP LOCKED
)
"""
