"""API tokens: their format, checksum and digest. Pure.

A token is a prefix for its kind, 256 random bits and a checksum, so that secret scanners can find leaked
tokens and a typing error can be distinguished from a revoked token.
"""

from __future__ import annotations

import hashlib
import secrets
import zlib
from enum import StrEnum

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SECRET_LENGTH = 43  # 62**43 > 2**256
_CHECKSUM_LENGTH = 6  # 62**6 > 2**32


class Prefix(StrEnum):
    PERSONAL = "cp_pat_"
    AGENT = "cp_agt_"
    # Belongs to no principal: it admits one or a few agents (registry.joining.join).
    JOIN = "cp_joi_"
    # Issued by the authorization server (controlplane.access.oauth).
    OAUTH = "cp_oat_"
    # Authenticate no request to the API; only /oauth2/token accepts them.
    REFRESH = "cp_ort_"
    # The password of an agent at NATS; no request to the API accepts it.
    NATS = "cp_nat_"
    CLIENT_SECRET = "cp_ocs_"  # noqa: S105  (a prefix)


def new_token(prefix: Prefix) -> str:
    body = prefix + _base62(secrets.randbits(256), _SECRET_LENGTH)
    return body + _checksum(body)


def looks_like_token(text: str) -> bool:
    """True if the text has a known prefix and a correct checksum, whether or not the token exists."""
    has_prefix = any(text.startswith(prefix) for prefix in Prefix)
    has_length = len(text) == len(Prefix.PERSONAL) + _SECRET_LENGTH + _CHECKSUM_LENGTH
    return (
        has_prefix
        and has_length
        and text.isascii()
        and _checksum(text[:-_CHECKSUM_LENGTH]) == text[-_CHECKSUM_LENGTH:]
    )


def digest(token: str) -> bytes:
    """Return the SHA-256 digest. 256 random bits need no slow hash, unlike passwords."""
    return hashlib.sha256(token.encode()).digest()


def hint(token: str) -> str:
    """Return the start of the token, which lists show: the prefix and four characters."""
    return token[: len(Prefix.PERSONAL) + 4]


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), _CHECKSUM_LENGTH)


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, rest = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[rest])
    return "".join(reversed(digits))
