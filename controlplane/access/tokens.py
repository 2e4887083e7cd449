"""API tokens: how they are made, recognised and stored. Pure.

A token is a prefix that says what it is, 256 random bits and a checksum, so that scanners find
leaked ones and a typing error is told apart from a revoked token (reliability.md 3.5).
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
    # Nobody's: it lets one agent in, or a few (registry.joining.join).
    JOIN = "cp_joi_"


def new_token(prefix: Prefix) -> str:
    body = prefix + _base62(secrets.randbits(256), _SECRET_LENGTH)
    return body + _checksum(body)


def looks_like_token(text: str) -> bool:
    """True if the text has a known prefix and a right checksum; says nothing about validity."""
    known = any(text.startswith(prefix) for prefix in Prefix)
    right_length = len(text) == len(Prefix.PERSONAL) + _SECRET_LENGTH + _CHECKSUM_LENGTH
    return (
        known
        and right_length
        and text.isascii()
        and _checksum(text[:-_CHECKSUM_LENGTH]) == text[-_CHECKSUM_LENGTH:]
    )


def digest(token: str) -> bytes:
    """SHA-256: a slow hash is for passwords; 256 random bits cannot be guessed. 32 bytes."""
    return hashlib.sha256(token.encode()).digest()


def hint(token: str) -> str:
    """The part that lists show, to tell tokens apart: the prefix and four characters."""
    return token[: len(Prefix.PERSONAL) + 4]


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), _CHECKSUM_LENGTH)


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, rest = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[rest])
    return "".join(reversed(digits))
