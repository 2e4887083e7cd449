"""Last use of agents' tokens: a token without one looks unused, and could be revoked by mistake."""

from __future__ import annotations

from django.db import connection

_BATCH_SIZE = 1000


def note_token_uses() -> int:
    """Store the last heartbeat of each agent as its token's last use, once an hour; return how many."""
    total = 0
    while count := _update_batch():
        total += count
    return total


def _update_batch() -> int:
    with connection.cursor() as cursor:
        cursor.execute(_UPDATE, [_BATCH_SIZE])
        return int(cursor.rowcount)


# Locked rows are skipped: nothing must wait for this.
_UPDATE = """
WITH used AS (
    SELECT token.id, lease.renewed_at FROM access_token AS token
    JOIN registry_lease AS lease ON lease.token_digest = token.digest
    WHERE token.last_used_at IS NULL OR lease.renewed_at > token.last_used_at + interval '1 hour'
    LIMIT %s
    FOR UPDATE OF token SKIP LOCKED
)
UPDATE access_token AS token SET last_used_at = used.renewed_at FROM used WHERE token.id = used.id
"""
