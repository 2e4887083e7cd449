"""Regular work of the authorization server: expired rows, old keys, and secrets that expire soon."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from controlplane.access.models import Token
from controlplane.access.oauth import event_types, signing_keys
from controlplane.access.oauth.models import AccessGrant, ClientSecret, DeviceCode, TokenFamily
from controlplane.access.occurrences import record_occurrence
from controlplane.identity.actors import system

# Days before the expiry of a secret on which an event warns of it.
WARNING_DAYS = (30, 7, 1)
# Used codes are kept, so that a second use revokes what the first gave.
_CODES_KEPT = timedelta(days=1)
_TOKENS_KEPT = timedelta(days=7)
_BATCH = 5000


def tidy(now: datetime) -> None:
    """Do all regular work. Safe to run at any time, and by several processes at once."""
    delete_expired(now)
    warn_of_expiring_secrets(now)
    signing_keys.rotate_if_old(now)


def delete_expired(now: datetime) -> None:
    """Delete codes, logins and access tokens that expired a while ago."""
    AccessGrant.objects.filter(expires__lt=now - _CODES_KEPT).delete()
    DeviceCode.objects.filter(expires_at__lt=now - _CODES_KEPT).delete()
    tokens = Token.objects.filter(oauth__isnull=False, expires_at__lt=now - _TOKENS_KEPT)
    ids = tokens.filter(children__isnull=True).values_list("id", flat=True)[:_BATCH]
    Token.objects.filter(id__in=list(ids)).delete()
    TokenFamily.objects.filter(Q(ends_at__lt=now - _TOKENS_KEPT), Q(access_tokens__isnull=True)).delete()


@transaction.atomic
def warn_of_expiring_secrets(now: datetime) -> int:
    """Record an event for each valid secret that expires in 30, 7 or 1 days, once for each."""
    rows = ClientSecret.objects.select_for_update(skip_locked=True, of=("self",)).select_related("client")
    rows = rows.filter(
        revoked_at=None, expires_at__gt=now, expires_at__lte=now + timedelta(days=max(WARNING_DAYS))
    )
    return sum(_warn(row, now) for row in rows.order_by("id"))


def due_warning(expires_at: datetime, now: datetime, warned_days: int | None) -> int | None:
    """Return the warning that is due, in days; None if it was given. warned_days: of the last warning."""
    due = min((days for days in WARNING_DAYS if expires_at <= now + timedelta(days=days)), default=None)
    if due is None or (warned_days is not None and warned_days <= due):
        return None
    return due


def _warn(row: ClientSecret, now: datetime) -> bool:
    assert row.expires_at is not None
    days = due_warning(row.expires_at, now, row.warned_days)
    if days is None:
        return False
    ClientSecret.objects.filter(id=row.id).update(warned_days=days)
    record_occurrence(
        event_types.SECRET_EXPIRING,
        str(row.id),
        actor=system("oauth"),
        data={"client": row.client.client_id, "secret_id": str(row.id), "days": days},
    )
    return True
