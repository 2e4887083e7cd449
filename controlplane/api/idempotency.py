"""Idempotency-Key on POST: one effect per key, shown again to whoever asks again.

Follows draft-ietf-httpapi-idempotency-key-header: 409 while the first request is under way, 422 for
another query or body under the same key. Errors are never kept: their transaction is rolled back.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
from django.db import connection
from django.db.models.functions import Now
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.models import IdempotencyKey
from controlplane.errors import FieldError, InvalidRequest, KeyInFlight, KeyReused

KEPT_FOR = timedelta(hours=24)
_KEPT_HEADERS = ("ETag", "Location")
_LEGAL = re.compile(r"[\x21-\x7e]{1,255}")


@dataclass(frozen=True, slots=True)
class Claim:
    """A key that this request holds: by an advisory lock, until its transaction ends."""

    principal_id: UUID
    route: str
    key: str
    body_digest: bytes


def claim(request: Request, principal_id: UUID) -> Claim | None:
    """Take the key that the request names, or return None if it names none. Needs a transaction."""
    key = key_of(request)
    if key is None:
        return None
    # The query too: `dry_run`, `prune` and the like change what a request means.
    asked = [request.get_full_path(), request.data]
    claimed = Claim(principal_id, f"{request.method} {request.path}"[:255], key, _digest(asked))
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_lock_number(claimed)])
        if not cursor.fetchone()[0]:
            raise KeyInFlight("The first request with this key has not ended. Ask again in a second.")
    return claimed


def key_of(request: Request) -> str | None:
    """The key that the request names. Raises InvalidRequest."""
    key = request.headers.get("Idempotency-Key")
    if key is not None and not is_legal(key):
        message = "An Idempotency-Key has 1 to 255 printable ASCII characters. A UUID is good."
        raise InvalidRequest(message, errors=[FieldError("header:Idempotency-Key", "malformed", message)])
    return key


def is_legal(key: str) -> bool:
    return _LEGAL.fullmatch(key) is not None


def replay(claimed: Claim) -> Response | None:
    """Return the answer that the key had, or None if it is new. Raises KeyReused."""
    row = IdempotencyKey.objects.filter(
        principal_id=claimed.principal_id,
        route=claimed.route,
        key=claimed.key,
        created_at__gt=Now() - KEPT_FOR,
    ).first()
    if row is None:
        return None
    if bytes(row.body_digest) != claimed.body_digest:
        raise KeyReused(
            "This Idempotency-Key was used with another query or body. Use a new key for a new request."
        )
    return Response(row.body, status=row.status, headers={**row.headers, "Idempotent-Replayed": "true"})


def keep(claimed: Claim, response: Response, shown_again: Any) -> None:
    """Keep the answer. `shown_again` is its body without secrets: those are shown once."""
    IdempotencyKey.objects.update_or_create(
        principal_id=claimed.principal_id,
        route=claimed.route,
        key=claimed.key,
        defaults={
            "body_digest": claimed.body_digest,
            "status": response.status_code,
            "headers": {name: response[name] for name in _KEPT_HEADERS if name in response},
            # As the first answer was written: times in the same words.
            "body": msgspec.to_builtins(shown_again, enc_hook=str),
            "created_at": Now(),
        },
    )


def purge() -> int:
    """Forget keys older than a day; return how many."""
    forgotten, _ = IdempotencyKey.objects.filter(created_at__lte=Now() - KEPT_FOR).delete()
    return forgotten


def _digest(asked: Any) -> bytes:
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).digest()


def _lock_number(claimed: Claim) -> int:
    text = f"{claimed.principal_id} {claimed.route} {claimed.key}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], signed=True)
