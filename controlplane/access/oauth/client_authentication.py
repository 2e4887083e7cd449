"""Authentication of clients at the token, device, revocation and introspection endpoints."""

from __future__ import annotations

import structlog

from controlplane.access.oauth.client_secrets import matching_secret
from controlplane.access.oauth.credentials import Credentials
from controlplane.access.oauth.models import OAuthClient

_MAX_CLIENT_ID = 255
log = structlog.get_logger(__name__)


def find_client(client_id: str) -> OAuthClient | None:
    """Return the active client with this id."""
    if not client_id or len(client_id) > _MAX_CLIENT_ID or not client_id.isprintable():
        return None
    rows = OAuthClient.objects.select_related("principal")
    return rows.filter(client_id=client_id, is_active=True).first()


def authenticate(credentials: Credentials) -> OAuthClient | None:
    """Return the client: a confidential one with its secret, a public one without any secret."""
    client = next(filter(None, map(find_client, credentials.client_ids)), None)
    if client is None:
        return None
    if client.is_public:
        is_authentic = not credentials.secrets
    else:
        is_authentic = matching_secret(client, credentials.secrets) is not None
    if not is_authentic:
        log.warning("oauth.client_denied", client=client.client_id)
    return client if is_authentic else None
