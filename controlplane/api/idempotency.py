"""Idempotency-Key for POST: requests with the same key take effect once and get the same response.

Follows draft-ietf-httpapi-idempotency-key-header: 409 while the first request is running, 422 for another
query or body with the same key. Errors are not stored: their transaction is rolled back.
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

RETENTION = timedelta(hours=24)
_STORED_HEADERS = ("ETag", "Location", "Operation-Location")
_LEGAL = re.compile(r"[\x21-\x7e]{1,255}")


@dataclass(frozen=True, slots=True)
class Claim:
    """A key that this request holds through an advisory lock until its transaction ends."""

    principal_id: UUID
    route: str
    key: str
    body_digest: bytes


def claim(request: Request, principal_id: UUID) -> Claim | None:
    """Lock the request's key, or return None if it has none. Needs a transaction."""
    key = key_of(request)
    if key is None:
        return None
    # Includes the query: parameters such as `dry_run` and `prune` change the meaning of a request.
    content = [request.get_full_path(), request.data]
    claimed = Claim(principal_id, f"{request.method} {request.path}"[:255], key, _digest(content))
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_lock_number(claimed)])
        if not cursor.fetchone()[0]:
            raise KeyInFlight(
                "The first request with this Idempotency-Key is still running. Try again in a second."
            )
    return claimed


def key_of(request: Request) -> str | None:
    """Return the request's key, or None. Raises InvalidRequest if it is malformed."""
    key = request.headers.get("Idempotency-Key")
    if key is not None and not is_valid_key(key):
        message = "Idempotency-Key must be 1 to 255 printable ASCII characters, such as a UUID."
        raise InvalidRequest(message, errors=[FieldError("header:Idempotency-Key", "malformed", message)])
    return key


def is_valid_key(key: str) -> bool:
    return _LEGAL.fullmatch(key) is not None


def replay(claimed: Claim) -> Response | None:
    """Return the stored response of the key, or None if the key is new. Raises KeyReused."""
    row = IdempotencyKey.objects.filter(
        principal_id=claimed.principal_id,
        route=claimed.route,
        key=claimed.key,
        created_at__gt=Now() - RETENTION,
    ).first()
    if row is None:
        return None
    if bytes(row.body_digest) != claimed.body_digest:
        raise KeyReused(
            "This Idempotency-Key was used for a request with another query or body. Use a new key for"
            " each new request."
        )
    return Response(row.body, status=row.status, headers={**row.headers, "Idempotent-Replayed": "true"})


def store(claimed: Claim, response: Response, replayed_body: Any) -> None:
    """Store the response. replayed_body: its body without secrets, which are returned only once."""
    IdempotencyKey.objects.update_or_create(
        principal_id=claimed.principal_id,
        route=claimed.route,
        key=claimed.key,
        defaults={
            "body_digest": claimed.body_digest,
            "status": response.status_code,
            "headers": {name: response[name] for name in _STORED_HEADERS if name in response},
            # In the same format as the first response, such as that of times.
            "body": msgspec.to_builtins(replayed_body, enc_hook=str),
            "created_at": Now(),
        },
    )


def purge() -> int:
    """Delete keys older than a day and return their number."""
    count, _ = IdempotencyKey.objects.filter(created_at__lte=Now() - RETENTION).delete()
    return count


def _digest(content: Any) -> bytes:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).digest()


def _lock_number(claimed: Claim) -> int:
    text = f"{claimed.principal_id} {claimed.route} {claimed.key}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], signed=True)
