"""Note on tokens that their agents beat: a token without a trace of use invites somebody to revoke it."""

from __future__ import annotations

from django.db import connection

_AT_ONCE = 1000


def note_token_uses() -> int:
    """Write the last heartbeat of each agent as the last use of its token, hour by hour; return how many."""
    total = 0
    while count := _note_some():
        total += count
    return total


def _note_some() -> int:
    with connection.cursor() as cursor:
        cursor.execute(_NOTE, [_AT_ONCE])
        return int(cursor.rowcount)


# Rows that somebody holds are skipped: nobody must wait for a note.
_NOTE = """
WITH used AS (
    SELECT token.id, lease.renewed_at FROM access_token AS token
    JOIN registry_lease AS lease ON lease.token_digest = token.digest
    WHERE token.last_used_at IS NULL OR lease.renewed_at > token.last_used_at + interval '1 hour'
    LIMIT %s
    FOR UPDATE OF token SKIP LOCKED
)
UPDATE access_token AS token SET last_used_at = used.renewed_at FROM used WHERE token.id = used.id
"""
