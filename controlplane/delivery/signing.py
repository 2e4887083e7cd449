"""Signatures of webhooks (Standard Webhooks 1.0.0). Pure."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from binascii import Error as Base64Error
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from controlplane.errors import FieldError, InvalidRequest

_PREFIX = "whsec_"
# Standard Webhooks, "Symmetric": between 24 and 64 random bytes.
_FEWEST_BYTES, _MOST_BYTES, _OUR_BYTES = 24, 64, 32


@dataclass(frozen=True, slots=True)
class SigningSecret:
    """A secret as receivers know it: `whsec_` and the key in base64. ends_at: when it stops signing."""

    text: str
    ends_at: datetime | None = None

    def signs_at(self, now: datetime) -> bool:
        return self.ends_at is None or now < self.ends_at

    @property
    def key(self) -> bytes:
        return base64.b64decode(self.text.removeprefix(_PREFIX))


def new_secret() -> str:
    return _PREFIX + base64.b64encode(secrets.token_bytes(_OUR_BYTES)).decode()


def check_secret(text: str) -> None:
    """Raise InvalidRequest unless the text is a secret of Standard Webhooks."""
    try:
        size = len(base64.b64decode(text.removeprefix(_PREFIX), validate=True))
    except (Base64Error, ValueError):
        size = 0
    if not text.startswith(_PREFIX) or not _FEWEST_BYTES <= size <= _MOST_BYTES:
        message = f"A secret is {_PREFIX} and {_FEWEST_BYTES} to {_MOST_BYTES} bytes in base64. Or send none."
        raise InvalidRequest(message, errors=[FieldError("/secret", "invalid", message)])


def webhook_headers(
    body: bytes, *, message_id: str, signing_secrets: Iterable[SigningSecret], now: datetime
) -> dict[str, str]:
    """Return the headers of one attempt: id, time of the attempt in seconds, and a signature per secret."""
    timestamp = int(now.timestamp())
    signatures = [
        sign(body, secret.key, message_id=message_id, timestamp=timestamp)
        for secret in signing_secrets
        if secret.signs_at(now)
    ]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signatures),
    }


def sign(body: bytes, key: bytes, *, message_id: str, timestamp: int) -> str:
    """Return `v1,` and the HMAC-SHA256 of id, timestamp and body in base64. timestamp: in seconds."""
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
