"""Revocation of tokens by their client (RFC 7009)."""

from __future__ import annotations

from controlplane.access import issue_tokens, tokens
from controlplane.access.models import Token
from controlplane.access.oauth.issuance import actor_of, revoke_family
from controlplane.access.oauth.models import OAuthClient, RefreshToken


def revoke_token(secret: str, client: OAuthClient) -> None:
    """Revoke a token of the client, whatever its kind. Unknown tokens change nothing.

    A refresh token ends its whole family: access tokens, and its other refresh tokens.
    """
    digest = tokens.digest(secret)
    refresh_token = RefreshToken.objects.select_related("family").filter(digest=digest).first()
    if refresh_token is not None and refresh_token.family.client_id == client.id:
        revoke_family(refresh_token.family)
        return
    rows = Token.objects.filter(digest=digest, oauth__client=client).select_related("principal")
    token = rows.first()
    if token is not None:
        issue_tokens.revoke_token(token.id, of=None, actor=actor_of(token.principal))
