"""Joins whose answer was lost: sent again with its Idempotency-Key, a join gives its agent a new credential.

The first credential is stored as a digest only, so it cannot be shown again. It ends instead, if nobody has
used it: whoever has used it got the answer.
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

KEPT_FOR = timedelta(hours=24)
_INSTANCE = "instance_uuid"
_COLUMNS = ("join_token_id", "key_digest", "body_digest", "principal_id")


@dataclass(frozen=True, slots=True)
class RepeatKey:
    """Digests of an Idempotency-Key and of the body that it came with."""

    key: bytes
    body: bytes


def repeat_key(key: str, body: Any) -> RepeatKey:
    """The process may be another one when the join is repeated: its instance_uuid makes no other body."""
    said = {name: body[name] for name in body if name != _INSTANCE} if isinstance(body, dict) else body
    text = json.dumps(said, sort_keys=True)
    return RepeatKey(hashlib.sha256(key.encode()).digest(), hashlib.sha256(text.encode()).digest())


def note_joins(joined: Iterable[tuple[JoinToken, RepeatKey, UUID]]) -> None:
    """Remember the keys of agents that were let in, by principal. Needs the transaction of the join."""
    rows = [(token.id, repeat.key, repeat.body, principal_id) for token, repeat, principal_id in joined]
    if rows:
        copy_rows(RepeatableJoin, _COLUMNS, rows)


def known_keys(asked: Iterable[tuple[JoinToken, RepeatKey]]) -> set[tuple[UUID, bytes]]:
    """Those of the keys that were used with their join token before."""
    pairs = {(token.id, repeat.key) for token, repeat in asked}
    if not pairs:
        return set()
    rows = RepeatableJoin.objects.filter(key_digest__in=[key for _, key in pairs])
    return {(one.join_token_id, bytes(one.key_digest)) for one in rows} & pairs


def hold_key(token: JoinToken, repeat: RepeatKey) -> None:
    """Let nobody else use the key until the transaction ends. Raises KeyInFlight."""
    number = int.from_bytes(hashlib.sha256(token.id.bytes + repeat.key).digest()[:8], signed=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [number])
        if not cursor.fetchone()[0]:
            raise KeyInFlight("The first join with this key has not ended. Ask again in a second.")


def earlier_agent(token: JoinToken, repeat: RepeatKey) -> Agent | None:
    """Return the agent that this key let in; None if it let nobody in, or its record is gone.

    Raises KeyReused for another body, Conflict if the credential was used or has ended.
    """
    rows = RepeatableJoin.objects.filter(join_token_id=token.id, key_digest=repeat.key)
    row = rows.filter(created_at__gt=Now() - KEPT_FOR).first()
    agent = None if row is None else Agent.objects.filter(registered_by=row.principal_id).first()
    if row is None or agent is None:
        rows.delete()
        return None
    if bytes(row.body_digest) != repeat.body:
        raise KeyReused("This key was sent with another body before. Make a new key for a new request.")
    _check_unused(agent, row.principal_id)
    return agent


def forget_old_keys() -> int:
    """Return how many."""
    forgotten, _ = RepeatableJoin.objects.filter(created_at__lte=Now() - KEPT_FOR).delete()
    return forgotten


def _check_unused(agent: Agent, principal_id: UUID) -> None:
    """Under the locks that a heartbeat and the giving of its permit take."""
    lease = Lease.objects.select_for_update().filter(agent=agent).first()
    used = Token.objects.filter(principal_id=principal_id, last_used_at__isnull=False).exists()
    if used or lease is None or lease.reported_at is not None:
        raise Conflict(
            "The agent that joined with this key uses its token already. Use that token, or ask for a join "
            "token with may_take_over."
        )
    if not Principal.objects.filter(id=principal_id, is_active=True).exists():
        raise Conflict("The agent that joined with this key was sent away. Ask for a new join token.")
