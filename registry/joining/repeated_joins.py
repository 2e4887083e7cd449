"""Repeat joins whose response was lost: sent again with its Idempotency-Key, a join issues a new credential.

The first credential is stored as a digest only, so it cannot be returned again. It is revoked instead if it
is unused: an agent that used it got the response.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models.functions import Now

from controlplane.access.models import Principal, Token
from controlplane.database.bulk import copy_rows
from controlplane.errors import Conflict, KeyInFlight, KeyReused
from registry.agents.models import Agent, Lease
from registry.joining.models import JoinToken, RepeatableJoin

RETENTION = timedelta(hours=24)
# Another process may repeat the join, and with a newer token of its issuer.
_UNSTABLE = frozenset({"instance_uuid", "subject_token"})
_COLUMNS = ("join_token_id", "key_digest", "body_digest", "principal_id")


@dataclass(frozen=True, slots=True)
class RepeatKey:
    """Digests of an Idempotency-Key and of the body sent with it."""

    key: bytes
    body: bytes


def repeat_key(key: str, body: Any) -> RepeatKey:
    """Return the digests, of the body without what another process would send differently."""
    stable_body = body
    if isinstance(body, dict):
        stable_body = {name: body[name] for name in body if name not in _UNSTABLE}
    text = json.dumps(stable_body, sort_keys=True)
    return RepeatKey(hashlib.sha256(key.encode()).digest(), hashlib.sha256(text.encode()).digest())


def record_joins(joins: Iterable[tuple[JoinToken, RepeatKey, UUID]]) -> None:
    """Store the keys of joins with their principals. Call in the transaction of the join."""
    rows = [(token.id, repeat.key, repeat.body, principal_id) for token, repeat, principal_id in joins]
    if rows:
        copy_rows(RepeatableJoin, _COLUMNS, rows)


def find_used_keys(keys: Iterable[tuple[JoinToken, RepeatKey]]) -> set[tuple[UUID, bytes]]:
    """Return the keys that were already used with their join token."""
    pairs = {(token.id, repeat.key) for token, repeat in keys}
    if not pairs:
        return set()
    rows = RepeatableJoin.objects.filter(key_digest__in=[key for _, key in pairs])
    return {(row.join_token_id, bytes(row.key_digest)) for row in rows} & pairs


def lock_key(token: JoinToken, repeat: RepeatKey) -> None:
    """Lock the key until the transaction ends. Raises KeyInFlight."""
    number = int.from_bytes(hashlib.sha256(token.id.bytes + repeat.key).digest()[:8], signed=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [number])
        if not cursor.fetchone()[0]:
            raise KeyInFlight("The first join with this key is still in progress. Retry in a second.")


def find_earlier_agent(token: JoinToken, repeat: RepeatKey) -> Agent | None:
    """Return the agent that joined with this key; None if no agent did, or its record was removed.

    Raises KeyReused for another body, Conflict if the credential was used or revoked.
    """
    rows = RepeatableJoin.objects.filter(join_token_id=token.id, key_digest=repeat.key)
    row = rows.filter(created_at__gt=Now() - RETENTION).first()
    agent = None if row is None else Agent.objects.filter(registered_by=row.principal_id).first()
    if row is None or agent is None:
        rows.delete()
        return None
    if bytes(row.body_digest) != repeat.body:
        raise KeyReused("This key was already used with another body. Use a new key for a new request.")
    _check_unused(agent, row.principal_id)
    return agent


def delete_old_keys() -> int:
    """Delete keys past their retention; return how many."""
    deleted_count, _ = RepeatableJoin.objects.filter(created_at__lte=Now() - RETENTION).delete()
    return deleted_count


def _check_unused(agent: Agent, principal_id: UUID) -> None:
    """Raise Conflict if the credential was used or revoked. Takes the locks that heartbeats take."""
    lease = Lease.objects.select_for_update().filter(agent=agent).first()
    used = Token.objects.filter(principal_id=principal_id, last_used_at__isnull=False).exists()
    if used or lease is None or lease.reported_at is not None:
        raise Conflict(
            "The agent that joined with this key already uses its token. Use that token, or a join token "
            "with may_take_over."
        )
    if not Principal.objects.filter(id=principal_id, is_active=True).exists():
        raise Conflict(
            "The credential of the agent that joined with this key was revoked. Request a new join token."
        )
