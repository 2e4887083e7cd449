"""JWTs for others: access tokens for other resource servers (RFC 9068), and ID tokens."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from oauthlib.oauth2.rfc6749.errors import CustomOAuth2Error

from controlplane.access.models import Principal
from controlplane.access.oauth import signing_keys
from controlplane.access.oauth.issuance import Issue
from controlplane.access.oauth.models import AccessGrant
from controlplane.access.oauth.scopes import OPENID
from controlplane.access.teams.memberships import teams_of
from controlplane.database.clock import statement_now
from controlplane.ids import uuid7

_JWT_LIFETIME = timedelta(minutes=10)
_OPAQUE = "opaque"


def own_audiences() -> frozenset[str]:
    return frozenset({settings.PUBLIC_URL, *settings.AUTHORIZED_URIS})


def requested_audience(request: Any) -> str:
    """Return the other resource server for which a JWT is requested; empty for this server.

    Raises `invalid_target` (RFC 8707) if the client may not request tokens for it.
    """
    requested = getattr(request, "audience", None) or getattr(request, "resource", None) or ""
    for origin in ("family", "grant", "device"):
        requested = requested or getattr(getattr(request, origin, None), "audience", "")
    if isinstance(requested, list):
        requested = requested[0] if requested else ""
    is_for_us = not requested or requested.rstrip("/") in own_audiences()
    if is_for_us or settings.ACCESS_TOKEN_FORMAT == _OPAQUE:
        return ""
    if requested not in request.client.audiences:
        raise CustomOAuth2Error(
            error="invalid_target",
            description="The client may not request tokens for this audience.",
            request=request,
        )
    return str(requested)


def replace_by_jwt(token: dict[str, Any], issue: Issue) -> None:
    """Replace an opaque access token for another resource server by a JWT."""
    if not issue.audience:
        return
    lifetime = min(issue.lifetime, _JWT_LIFETIME)
    claims = {
        **_times(lifetime),
        "iss": settings.PUBLIC_URL,
        "sub": str(issue.principal.id),
        "aud": [issue.audience],
        "jti": str(uuid7()),
        "client_id": issue.client.client_id if issue.client else "",
        "scope": " ".join(issue.scopes),
        # Flyte reads this name.
        "scp": list(issue.scopes),
        **_profile(issue.principal, issue.scopes),
    }
    token["access_token"] = signing_keys.sign(claims, token_type="at+jwt")  # noqa: S106  (the type)
    token["expires_in"] = int(lifetime.total_seconds())


def add_id_token(token: dict[str, Any], issue: Issue, grant: AccessGrant | None) -> None:
    """Add an ID token, if other applications may log people in here."""
    if not settings.OIDC_PROVIDER or OPENID not in issue.scopes or issue.client is None:
        return
    claims = {
        **_times(issue.lifetime),
        "iss": settings.PUBLIC_URL,
        "sub": str(issue.principal.id),
        "aud": issue.client.client_id,
        **({"nonce": grant.nonce} if grant is not None and grant.nonce else {}),
        **(
            {"auth_time": int(grant.auth_time.timestamp())}
            if grant is not None and grant.auth_time is not None
            else {}
        ),
        **_profile(issue.principal, issue.scopes),
    }
    token["id_token"] = signing_keys.sign(claims, token_type="JWT")  # noqa: S106  (the type)


def user_info(principal: Principal, scopes: tuple[str, ...]) -> dict[str, Any]:
    """Return the claims about a person that the scopes allow."""
    return {"sub": str(principal.id), **_profile(principal, scopes)}


def _profile(principal: Principal, scopes: tuple[str, ...]) -> dict[str, Any]:
    claims: dict[str, Any] = {}
    if "profile" in scopes:
        claims["preferred_username"] = principal.name
        claims["name"] = principal.display_name or principal.name
    if "email" in scopes and principal.email:
        claims["email"] = principal.email
    if "groups" in scopes:
        claims["groups"] = sorted(team.slug for team in teams_of(principal.id))
    return claims


def _times(lifetime: timedelta) -> dict[str, int]:
    now = statement_now()
    return {"iat": int(now.timestamp()), "exp": int((now + lifetime).timestamp())}
