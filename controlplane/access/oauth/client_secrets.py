"""Secrets of clients: creation, rotation, and comparison with what a client sent."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from controlplane.access import audit, tokens
from controlplane.access.oauth import event_types
from controlplane.access.oauth.models import ClientSecret, OAuthClient
from controlplane.database.clock import statement_now
from controlplane.errors import FieldError, InvalidRequest, LimitReached, UnknownClientSecret
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor

_MOST_LIVE = 2
_MAX_DAYS = 730
# Brute force of a SHA-256 digest is impossible for a secret with so many bits; others keep a slow hash.
_BITS_FOR_FAST_HASH = 128
_LAST_USED_PRECISION = timedelta(minutes=1)


def live_secrets(client: OAuthClient) -> QuerySet[ClientSecret]:
    """Return the client's valid secrets."""
    rows = ClientSecret.objects.filter(client=client, revoked_at=None)
    return rows.filter(Q(expires_at=None) | Q(expires_at__gt=Now()))


@transaction.atomic
def create_secret(
    client: OAuthClient, expires_at: datetime | None, *, actor: Actor
) -> tuple[ClientSecret, str]:
    """Create a secret, which is returned only here. Raises InvalidRequest, LimitReached.

    expires_at: None for the default lifetime.
    """
    client = OAuthClient.objects.select_for_update().get(id=client.id)
    if client.is_public:
        raise InvalidRequest("Public clients have no secrets. Create a confidential client instead.")
    if live_secrets(client).count() >= _MOST_LIVE:
        raise LimitReached(f"A client has at most {_MOST_LIVE} valid secrets. Revoke one of them first.")
    secret = tokens.new_token(tokens.Prefix.CLIENT_SECRET)
    row = ClientSecret.objects.create(
        client=client,
        hint=tokens.hint(secret),
        digest=tokens.digest(secret),
        expires_at=_checked_expiry(expires_at),
    )
    row.refresh_from_db()
    _record(event_types.SECRET_CREATED, row, actor=actor)
    return row, secret


def get_secret(client: OAuthClient, secret_id: UUID) -> ClientSecret:
    """Return a secret of the client, valid or not. Raises UnknownClientSecret."""
    row = ClientSecret.objects.filter(client=client, id=secret_id).first()
    if row is None:
        raise UnknownClientSecret("The client has no such secret.")
    return row


@transaction.atomic
def revoke_secret(client: OAuthClient, secret_id: UUID, *, actor: Actor) -> None:
    """Revoke a secret at once. Issued tokens stay valid until they expire. Raises UnknownClientSecret."""
    row = ClientSecret.objects.select_for_update().filter(client=client, id=secret_id).first()
    if row is None:
        raise UnknownClientSecret("The client has no such secret.")
    if row.revoked_at is None:
        ClientSecret.objects.filter(id=row.id).update(revoked_at=Now())
        _record(event_types.SECRET_REVOKED, row, actor=actor)


def matching_secret(client: OAuthClient, secrets: Iterable[str]) -> ClientSecret | None:
    """Return the valid secret that is one of these, and remember its use."""
    secrets = tuple(secrets)
    rows = live_secrets(client)
    digests = [tokens.digest(secret) for secret in secrets]
    row = rows.filter(digest__in=digests).first() if digests else None
    if row is None:
        row = next((row for row in rows.exclude(slow_hash="") if _unlock(row, secrets)), None)
    if row is not None and (row.last_used_at is None or _is_outdated(row.last_used_at)):
        ClientSecret.objects.filter(id=row.id).update(last_used_at=Now())
    return row


def _unlock(row: ClientSecret, secrets: Iterable[str]) -> bool:
    """Compare with a bcrypt hash, and replace the hash by a digest if the secret is long enough."""
    import bcrypt

    for secret in secrets:
        encoded = secret.encode()[:72]  # bcrypt's limit
        if bcrypt.checkpw(encoded, row.slow_hash.encode()):
            if _bits(secret) >= _BITS_FOR_FAST_HASH:
                ClientSecret.objects.filter(id=row.id).update(digest=tokens.digest(secret), slow_hash="")
            return True
    return False


def _bits(secret: str) -> float:
    """Return the bits of a random secret with these kinds of characters."""
    kinds = ((str.islower, 26), (str.isupper, 26), (str.isdigit, 10))
    alphabet = sum(size for is_kind, size in kinds if any(map(is_kind, secret)))
    alphabet += 0 if secret.isalnum() else 16
    return len(secret) * math.log2(max(alphabet, 1))


def _is_outdated(last_used_at: datetime) -> bool:
    return statement_now() - last_used_at > _LAST_USED_PRECISION


def _checked_expiry(expires_at: datetime | None) -> datetime:
    now = statement_now()
    if expires_at is None:
        return now + timedelta(days=min(settings.OAUTH_CLIENT_SECRET_DAYS, _MAX_DAYS))
    message = ""
    if expires_at <= now:
        message = "The expiry is in the past. Choose a later time."
    elif expires_at > now + timedelta(days=_MAX_DAYS, minutes=5):
        message = f"Client secrets can be valid for at most {_MAX_DAYS} days. Choose an earlier time."
    if message:
        raise InvalidRequest(message, errors=[FieldError("/expires_at", "not_allowed", message)])
    return expires_at


def _record(event_type: EventType, row: ClientSecret, *, actor: Actor) -> None:
    is_new = event_type is event_types.SECRET_CREATED
    state = {"client": row.client.client_id, "hint": row.hint}
    audit.record(
        event_type,
        "client_secret",
        str(row.id),
        actor=actor,
        before=None if is_new else state,
        after=state if is_new else None,
        data={"client": row.client.client_id, "secret_id": str(row.id)},
    )
