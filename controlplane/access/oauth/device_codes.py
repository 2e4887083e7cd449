"""Device codes (RFC 8628): devices without a browser wait until a person approves them."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from controlplane.access import attempt_counters, tokens
from controlplane.access.models import Principal
from controlplane.access.oauth import consents, event_types, issuance
from controlplane.access.oauth.models import DeviceCode, OAuthClient, TokenFamily
from controlplane.access.oauth.server import new_code
from controlplane.database.clock import statement_now
from controlplane.errors import TooManyAttempts, UnknownDevice
from controlplane.web.client_address import source_of

# Neither vowels, so that codes are no words, nor similar letters (RFC 8628 section 6.1).
ALPHABET = "BCDFGHJKLMNPQRSTVWXZ"
_LENGTH = 8
_SLOWER_SECONDS = 5
# Devices whose clock and network are not exact must not be slowed down.
_LEEWAY = timedelta(seconds=1)
_WRONG_CODES = 10
_WINDOW_SECONDS = 300
AUTHORIZED = "authorized"
PENDING = "authorization_pending"
SLOW_DOWN = "slow_down"
EXPIRED = "expired_token"
DENIED = "access_denied"


@dataclass(frozen=True, slots=True)
class NewDeviceCode:
    """Codes of a device. user_code: for people, as XXXX-XXXX."""

    device_code: str
    user_code: str
    expires_in: int
    interval: int


@dataclass(frozen=True, slots=True)
class Poll:
    """The status for a device that asks. code: only if it is approved. status: None if it is unknown."""

    status: str | None
    code: DeviceCode | None = None


def create_device_code(
    client: OAuthClient, scopes: list[str], *, audience: str, address: str, device: str
) -> NewDeviceCode:
    """Create the codes of a device. address, device: of the request, for the person who approves it."""
    device_code, user_code = new_code(), "".join(secrets.choice(ALPHABET) for _ in range(_LENGTH))
    seconds, interval = settings.OAUTH_DEVICE_CODE_SECONDS, settings.OAUTH_DEVICE_INTERVAL_SECONDS
    DeviceCode.objects.create(
        digest=tokens.digest(device_code),
        user_code_digest=_user_code_digest(user_code),
        client=client,
        scopes=scopes,
        audience=audience[:255],
        interval=interval,
        address=address[:45],
        device=device[:100],
        expires_at=statement_now() + timedelta(seconds=seconds),
    )
    return NewDeviceCode(device_code, f"{user_code[:4]}-{user_code[4:]}", seconds, interval)


def poll(device_code: str, client: OAuthClient) -> Poll:
    """Return the status of a device code, in a transaction: the code stays locked."""
    # Without joins: after waiting for the lock, Postgres joins what was there before the wait.
    code = (
        DeviceCode.objects.select_for_update()
        .filter(digest=tokens.digest(device_code), client=client)
        .first()
    )
    if code is None:
        return Poll(None)
    now = statement_now()
    if code.state == DeviceCode.State.USED:
        if code.family is not None:
            issuance.revoke_family(code.family, event_types.CODE_REUSED)
        return Poll(None)
    if code.expires_at <= now:
        return Poll(EXPIRED)
    if code.state == DeviceCode.State.DENIED:
        return Poll(DENIED)
    if code.state == DeviceCode.State.APPROVED:
        is_active = code.principal is not None and code.principal.is_active
        return Poll(AUTHORIZED, code) if is_active else Poll(DENIED)
    return Poll(_status_while_pending(code, now))


def _status_while_pending(code: DeviceCode, now: datetime) -> str:
    is_early = (
        code.polled_at is not None and now < code.polled_at + timedelta(seconds=code.interval) - _LEEWAY
    )
    interval = code.interval + (_SLOWER_SECONDS if is_early else 0)
    DeviceCode.objects.filter(id=code.id).update(polled_at=now, interval=interval)
    return SLOW_DOWN if is_early else PENDING


def mark_used(code: DeviceCode, family: TokenFamily) -> None:
    DeviceCode.objects.filter(id=code.id).update(state=DeviceCode.State.USED, family=family)


def find_waiting_device(user_code: str, *, session: str, address: str) -> DeviceCode:
    """Return the device that waits with this user code. Raises UnknownDevice, TooManyAttempts.

    session, address: of the person; both together may fail 10 times in 5 minutes.
    """
    key = f"oauth:device:{_attempt_key(session, source_of(address))}"
    if attempt_counters.add([key], _WINDOW_SECONDS)[0] > _WRONG_CODES:
        raise TooManyAttempts(
            "Too many wrong codes. Wait five minutes, then try again.", retry_after=_WINDOW_SECONDS
        )
    rows = DeviceCode.objects.select_related("client").filter(state=DeviceCode.State.PENDING)
    code = rows.filter(
        user_code_digest=_user_code_digest(normalized(user_code)), expires_at__gt=statement_now()
    ).first()
    if code is None or not code.client.is_active:
        raise UnknownDevice("The code is incorrect or has expired. Check the code that your device shows.")
    attempt_counters.add([key], _WINDOW_SECONDS, -1)
    return code


@transaction.atomic
def decide_about_device(
    code: DeviceCode, person: Principal, *, is_approved: bool, auth_time: datetime | None
) -> None:
    """Approve or deny a waiting device for a person. Raises UnknownDevice if somebody was faster.

    auth_time: when the person logged in.
    """
    state = DeviceCode.State.APPROVED if is_approved else DeviceCode.State.DENIED
    rows = DeviceCode.objects.filter(
        id=code.id, state=DeviceCode.State.PENDING, expires_at__gt=statement_now()
    )
    if not rows.update(state=state, principal=person, auth_time=auth_time):
        raise UnknownDevice("The code has expired or was used. Start again on your device.")
    if is_approved:
        consents.record_consent(person, code.client, code.scopes)


def normalized(user_code: str) -> str:
    """Return a typed user code without spaces and dashes, in capital letters."""
    return "".join(letter for letter in user_code.upper() if letter.isalnum())[: _LENGTH + 1]


def _user_code_digest(user_code: str) -> bytes:
    """Return a keyed digest: 20**8 codes could be guessed from plain digests."""
    key = f"oauth.user-code:{settings.SECRET_KEY}".encode()
    return hmac.digest(key, user_code.encode(), "sha256")


def _attempt_key(*parts: str) -> str:
    return hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:40]
