"""The key with which the control plane signs logins, in NATS' text form, and tokens signed by it. Pure.

An nkey is base32 of a prefix, 32 bytes and a CRC-16. See docs/adr/0055.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_ACCOUNT = b"\x00"  # "A"
_SEED_OF_ACCOUNT = b"\x90\x00"  # "SA"
_HEX = re.compile(r"[0-9a-f]{64}")
_HEADER = {"typ": "JWT", "alg": "ed25519-nkey"}


def new_seed() -> str:
    """Return the seed of a new key, as `nk -gen account` prints it."""
    return _encode(_SEED_OF_ACCOUNT + secrets.token_bytes(32))


def check_seed(seed: str) -> str:
    """Return the seed if a key can be made of it, or if it is empty. Raises ValueError."""
    if seed:
        _raw_seed(seed)
    return seed


class AccountKey:
    """The signing key of a NATS account. seed: an nkey seed of an account, or 64 hexadecimal digits."""

    def __init__(self, seed: str) -> None:
        raw = _raw_seed(seed)
        self._key = Ed25519PrivateKey.from_private_bytes(raw)
        self._raw = raw
        self.public = _encode(_ACCOUNT + self._key.public_key().public_bytes_raw())

    def sign(self, claims: Mapping[str, Any]) -> str:
        """Return a token with these claims, as NATS reads it."""
        content = f"{_segment(_HEADER)}.{_segment(claims)}"
        return f"{content}.{_base64url(self._key.sign(content.encode()))}"

    def derive(self, purpose: str) -> str:
        """Return a password for the purpose, which is the same each time."""
        return hmac.new(self._raw, purpose.encode(), hashlib.sha256).hexdigest()


def dcm_password(key: AccountKey) -> str:
    """Return the password of the user that DCM agents share, if none is set."""
    return key.derive("dcm")


def read_claims(token: str) -> dict[str, Any]:
    """Return the claims of a token without verifying its signature. Raises ValueError."""
    parts = token.split(".")
    if len(parts) != 3:
        raise ValueError("A token has three parts.")
    claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    if not isinstance(claims, dict):
        raise ValueError("Claims are an object.")
    return claims


def _raw_seed(seed: str) -> bytes:
    if _HEX.fullmatch(seed):
        return bytes.fromhex(seed)
    try:
        data = base64.b32decode(seed + "=" * (-len(seed) % 8))
    except binascii.Error as error:
        raise ValueError("it is neither an nkey seed of an account nor 64 hexadecimal digits") from error
    body, checksum = data[:-2], data[-2:]
    if len(body) != 34 or not body.startswith(_SEED_OF_ACCOUNT) or _crc(body) != checksum:
        raise ValueError("it is not an nkey seed of an account, which begins with SA")
    return body[2:]


def _encode(body: bytes) -> str:
    return base64.b32encode(body + _crc(body)).rstrip(b"=").decode()


def _crc(body: bytes) -> bytes:
    return binascii.crc_hqx(body, 0).to_bytes(2, "little")


def _segment(claims: Mapping[str, Any]) -> str:
    return _base64url(json.dumps(claims, separators=(",", ":")).encode())


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
