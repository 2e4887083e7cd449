"""Keys that sign JWTs: creation, publication and rotation. Private keys are sealed.

A key is published before it signs, so that verifiers know it, and afterwards until its last JWT has expired.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from joserfc import jwt
from joserfc.jwk import RSAKey
from joserfc.jws import JWSRegistry

from controlplane.access import audit
from controlplane.access.oauth import event_types
from controlplane.access.oauth.models import SigningKey
from controlplane.access.secrets.sealed_columns import register_sealed_column
from controlplane.access.secrets.sealing import seal, unseal
from controlplane.database.clock import statement_now
from controlplane.database.locks import AdvisoryLock, lock
from controlplane.identity.actors import Actor, system
from controlplane.ids import uuid7

_ALGORITHM = "RS256"
_BITS = 2048
# The next key is published for so long before it signs.
_PUBLISHED_BEFORE = timedelta(hours=24)
# The longest lifetime of an access token, and an hour for clocks and caches.
_PUBLISHED_AFTER = timedelta(hours=13)


def sealing_context(key: SigningKey) -> str:
    return f"signing_key/{key.kid}"


register_sealed_column("access.SigningKey", "private_key", sealing_context)


def sign(claims: dict[str, Any], *, token_type: str) -> str:
    """Return a signed JWT. Creates the first key when it is needed."""
    row = _active_key()
    key = RSAKey.import_key(unseal(row.private_key, sealing_context(row)).decode())
    # Flyte reads `key_id`, everybody else `kid`.
    header = {"alg": row.alg, "typ": token_type, "kid": row.kid, "key_id": row.kid}
    registry = JWSRegistry(strict_check_header=False)
    return jwt.encode(header, claims, key, algorithms=[row.alg], registry=registry)


def published_keys() -> dict[str, Any]:
    """Return the JSON Web Key Set."""
    rows = SigningKey.objects.order_by("id")
    now = statement_now()
    return {"keys": [row.public_key for row in rows if row.not_after is None or row.not_after > now]}


@transaction.atomic
def rotate(*, actor: Actor, now: datetime | None = None) -> SigningKey:
    """Replace the active key by the next one, and publish a new next key. Returns the active key."""
    lock(AdvisoryLock.SIGNING_KEYS)
    now = now or statement_now()
    SigningKey.objects.filter(not_after__lte=now).delete()
    retired = {"state": SigningKey.State.RETIRED, "not_after": now + _PUBLISHED_AFTER}
    SigningKey.objects.filter(state=SigningKey.State.ACTIVE).update(**retired)
    key = SigningKey.objects.filter(state=SigningKey.State.NEXT).order_by("id").first() or _create_key()
    SigningKey.objects.filter(id=key.id).update(state=SigningKey.State.ACTIVE, activated_at=now)
    _create_key()
    key.refresh_from_db()
    audit.record(
        event_types.SIGNING_KEY_ROTATED,
        "signing_key",
        key.kid,
        actor=actor,
        before=None,
        after={"kid": key.kid, "alg": key.alg, "state": key.state},
        data={"key": key.kid},
    )
    return key


def rotate_if_old(now: datetime) -> bool:
    """Rotate the keys if the active one is too old, and the next one was published long enough."""
    active = SigningKey.objects.filter(state=SigningKey.State.ACTIVE).first()
    upcoming = SigningKey.objects.filter(state=SigningKey.State.NEXT).order_by("id").first()
    if active is None or active.activated_at is None:
        return False
    is_old = active.activated_at + timedelta(days=settings.SIGNING_KEY_DAYS) <= now
    is_published = upcoming is not None and upcoming.created_at + _PUBLISHED_BEFORE <= now
    if is_old and is_published:
        rotate(actor=system("signing-keys"), now=now)
    return is_old and is_published


def _active_key() -> SigningKey:
    key = SigningKey.objects.filter(state=SigningKey.State.ACTIVE).first()
    if key is not None:
        return key
    with transaction.atomic():
        lock(AdvisoryLock.SIGNING_KEYS)
        key = SigningKey.objects.filter(state=SigningKey.State.ACTIVE).first()
        return key or rotate(actor=system("signing-keys"))


def _create_key() -> SigningKey:
    kid = str(uuid7())
    key = RSAKey.generate_key(_BITS, {"kid": kid, "use": "sig", "alg": _ALGORITHM})
    row = SigningKey(
        kid=kid, alg=_ALGORITHM, state=SigningKey.State.NEXT, public_key=key.as_dict(private=False)
    )
    row.private_key = seal(key.as_pem(private=True), sealing_context(row))
    row.save(force_insert=True)
    return row
