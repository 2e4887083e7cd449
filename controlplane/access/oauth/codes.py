"""Authorization codes: stored as digests, locked while they are used, kept until they expire."""

from __future__ import annotations

import hashlib

from controlplane.access.oauth.models import AccessGrant, OAuthClient, TokenFamily
from controlplane.database.clock import statement_now


def digest_of(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()


def lock_code(code: str, client: OAuthClient) -> AccessGrant | None:
    """Lock and return a code of the client, used or not."""
    # Without joins: after waiting for the lock, Postgres joins what was there before the wait.
    rows = AccessGrant.objects.select_for_update()
    return rows.filter(code=digest_of(code), application=client).first()


def mark_used(grant: AccessGrant, family: TokenFamily | None) -> None:
    AccessGrant.objects.filter(id=grant.id).update(used_at=statement_now(), family=family)
