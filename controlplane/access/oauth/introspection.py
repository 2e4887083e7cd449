"""Introspection of tokens (RFC 7662)."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db.models.functions import Now

from controlplane.access import tokens
from controlplane.access.models import Token
from controlplane.access.oauth.models import OAuthClient, RefreshToken
from controlplane.database.clock import statement_now

_INACTIVE: dict[str, Any] = {"active": False}


def describe_token(secret: str, client: OAuthClient) -> dict[str, Any] | None:
    """Return the description of a token for the client; None if the client may not have it.

    Only confidential clients may ask. For a client without permission, unknown tokens are no exception.
    """
    if client.is_public:
        return None
    digest = tokens.digest(secret)
    rows = Token.objects.select_related("principal", "oauth", "oauth__client").annotate(now=Now())
    token = rows.filter(digest=digest, oauth__isnull=False).first()
    if token is not None and _may_read(client, token.oauth.client):
        return _access_token(token)
    row = (
        RefreshToken.objects.select_related("family__client", "family__principal")
        .filter(digest=digest)
        .first()
    )
    if row is not None and _may_read(client, row.family.client):
        return _refresh_token(row)
    return _INACTIVE if client.may_introspect else None


def _may_read(client: OAuthClient, owner: OAuthClient | None) -> bool:
    return client.may_introspect or (owner is not None and owner.id == client.id)


def _access_token(token: Token) -> dict[str, Any]:
    is_live = token.revoked_at is None and token.expires_at is not None and token.expires_at > token.now  # type: ignore[attr-defined]  # annotated
    if not (is_live and token.principal.is_active):
        return _INACTIVE
    assert token.expires_at is not None
    return {
        "active": True,
        "token_type": "Bearer",
        "scope": " ".join(token.oauth.scopes),
        "client_id": token.oauth.client.client_id if token.oauth.client else "",
        "username": token.principal.name,
        "sub": str(token.principal.id),
        "iss": settings.PUBLIC_URL,
        "aud": token.oauth.audience or settings.PUBLIC_URL,
        "iat": int(token.created_at.timestamp()),
        "exp": int(token.expires_at.timestamp()),
    }


def _refresh_token(row: RefreshToken) -> dict[str, Any]:
    family = row.family
    is_live = row.replaced_at is None and family.revoked_at is None and row.expires_at > statement_now()
    if not (is_live and family.principal.is_active):
        return _INACTIVE
    return {
        "active": True,
        "token_type": "refresh_token",
        "scope": " ".join(family.scopes),
        "client_id": family.client.client_id,
        "username": family.principal.name,
        "sub": str(family.principal.id),
        "iss": settings.PUBLIC_URL,
        "exp": int(row.expires_at.timestamp()),
    }
