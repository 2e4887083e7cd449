"""Logout tokens of OpenID Connect Back-Channel Logout 1.0. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.access.issuers.verify import Expectations, JwtRefused
from controlplane.access.login.oidc.provider import Provider

EVENT = "http://schemas.openid.net/event/backchannel-logout"
# Keycloak sends `logout+jwt` or `JWT`, others nothing.
_TYPES = frozenset({"logout+jwt", "jwt", ""})
# The token is used at once: an old one is refused, so that its `jti` need not be remembered for long.
MAX_AGE_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Logout:
    """The sessions to end: one by `sid`, or all of a subject. token_id: `jti`."""

    issuer: str
    subject: str
    session_id: str
    token_id: str


def expectations(provider: Provider, claims: Mapping[str, Any]) -> Expectations:
    """Return what the signature check must expect of a token with these, yet unverified, claims."""
    return Expectations(
        provider.issuer_for(claims),
        frozenset({provider.client_id}),
        types=_TYPES,
        max_age=MAX_AGE_SECONDS,
        required=("jti",),
    )


def read_logout(claims: Mapping[str, Any]) -> Logout:
    """Return what a verified token ends. Raises JwtRefused."""
    events = claims.get("events")
    if not isinstance(events, Mapping) or not isinstance(events.get(EVENT), Mapping):
        raise JwtRefused("events", "The claim `events` does not name back-channel logout.")
    if "nonce" in claims:
        raise JwtRefused("nonce", "A logout token must not have the claim `nonce`: this is an ID token.")
    subject, session_id = claims.get("sub", ""), claims.get("sid", "")
    if not isinstance(subject, str) or not isinstance(session_id, str) or not (subject or session_id):
        raise JwtRefused("sub", "A logout token must have `sub` or `sid`.")
    return Logout(str(claims["iss"]), subject, session_id, str(claims["jti"]))
